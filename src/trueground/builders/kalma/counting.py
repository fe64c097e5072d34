"""How often the dataset's graphs have each relation: a count that every item takes along.

The counts are those of the build's own items, or those of a file: then the triples that are chosen
for an item do not depend on the other items.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from trueground.builders.base import BatchStage
from trueground.builders.kalma.items import CountedPair, LinkedPair, grown
from trueground.builders.kalma.wording import read_json_object
from trueground.errors import InputError
from trueground.records.problems import describe, shorten
from trueground.text.triples import pairs_of, plain_property
from trueground.types import Graph

FILE = "counts.json"
_EXPECTED = 'as a build writes: {"entries": 20, "counts": {"relation": 3, …}}'


class RelationCounts(NamedTuple):
    """Of 2·`entries` one-hop graphs so many have each relation, in plain spelling."""

    entries: int
    by_relation: Mapping[str, int]

    def of(self, relation: str) -> int:
        """The count of a relation; 1 for one that was not counted."""
        return self.by_relation.get(relation, 1)

    def encoded(self) -> bytes:
        """As it stands in the file: the same bytes for the same counts."""
        row = {"entries": self.entries, "counts": dict(sorted(self.by_relation.items()))}
        return msgspec.json.format(msgspec.json.encode(row), indent=1) + b"\n"


class Counting:
    """The stage that counts, and what it counted. `frozen` are the counts of a file."""

    def __init__(self, frozen: RelationCounts | None = None) -> None:
        self._frozen = frozen
        self.used = frozen or RelationCounts(0, {})

    def stage(self) -> BatchStage[LinkedPair, CountedPair]:
        """Counts, for each relation, the one-hop graphs that have it: two graphs an entry."""
        doc = "Count the relations" if self._frozen is None else "Take the counts of --counts"
        return BatchStage("count", doc, LinkedPair, CountedPair, self._work)

    def _work(self, items: Sequence[LinkedPair]) -> list[CountedPair]:
        """The items with the counts of their own relations. An entity counts in each entry."""
        own = [[relations(graph) for graph in item.graphs] for item in items]
        if self._frozen is None:
            total = Counter(name for graphs in own for names in graphs for name in names)
            self.used = RelationCounts(len(items), total)
        return [
            grown(
                item,
                CountedPair,
                counts={name: self.used.of(name) for name in sorted(set().union(*graphs))},
                entries=self.used.entries,
            )
            for item, graphs in zip(items, own, strict=True)
        ]


def relations(graph: Graph) -> set[str]:
    """The relations of a graph, in plain spelling."""
    return {plain_property(name) for name, _ in pairs_of(graph)} - {"name"}


def read_counts(path: Path) -> RelationCounts:
    """The counts that an earlier build wrote. InputError."""
    what = f"the counts {path}"
    row = read_json_object(path, "the counts", _EXPECTED)
    entries: Any = row.get("entries")
    counts = row.get("counts")
    if not _is_count(entries, None):
        raise InputError(
            f"{what}, field 'entries': found {describe(entries)}; expected {_EXPECTED}"
        )
    if not isinstance(counts, dict):
        raise InputError(f"{what}, field 'counts': found {describe(counts)}; expected {_EXPECTED}")
    for name, count in counts.items():
        if not _is_count(count, 2 * entries):
            raise InputError(
                f"{what}, {shorten(name)!r}: found {describe(count)}; expected a number from 1 to "
                f"{2 * entries}, two for each of the entries"
            )
    return RelationCounts(entries, {plain_property(name): count for name, count in counts.items()})


def _is_count(value: Any, most: int | None) -> bool:
    number = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    return number and (most is None or value <= most)
