"""How often the dataset's graphs have each relation: a count that every item takes along."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from trueground.builders.base import Whole
from trueground.builders.kalma.items import Counted, Linked, grown
from trueground.text.citations.triples import pairs_of, plain_property
from trueground.types import Graph


def make_counting(done: Callable[[], None]) -> Whole[Linked, Counted]:
    """Counts, for each relation, the one-hop graphs that have it: two graphs an entry.

    `done` is told when nobody will ask the graph any more.
    """

    def work(items: Sequence[Linked]) -> list[Counted]:
        done()
        return counted(items)

    return Whole("count", "Count the relations", Linked, Counted, work)


def counted(items: Sequence[Linked]) -> list[Counted]:
    """The items, each with the counts of its own relations. An entity counts in each entry."""
    own = [[relations(graph) for graph in item.graphs] for item in items]
    total = Counter(name for graphs in own for names in graphs for name in names)
    return [
        grown(
            item,
            Counted,
            counts={name: total[name] for name in sorted(set().union(*graphs))},
            entries=len(items),
        )
        for item, graphs in zip(items, own, strict=True)
    ]


def relations(graph: Graph) -> set[str]:
    """The relations of a graph, in plain spelling."""
    return {plain_property(name) for name, _ in pairs_of(graph)} - {"name"}
