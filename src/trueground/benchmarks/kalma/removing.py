"""Conscious incompetence: graphs without pieces of the minimum set (Li et al. 2024, section 4.4).

More pieces removed always contain the fewer ones: they go in the set's order. Where it is known
which pieces the first round chose, these stay, as with the authors: it is the later ones, which the
question was grown by, that a model should miss.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from trueground.text.triples import Key, format_value, keys_of, triple_key
from trueground.types import Graph, Triple


def without(
    graphs: Sequence[Graph],
    minimum: Sequence[Triple],
    number: int,
    staying: Collection[Triple] = (),
) -> tuple[list[Graph], list[Triple]]:
    """The graphs without the first `number` pieces of the set that they have, and these pieces.

    What is in `staying` is not removed. Of a property with several values only that value goes.
    """
    there = keys_of(graphs) - {triple_key(triple) for triple in staying}
    pieces: dict[Key, Triple] = {}
    for triple in minimum:
        if triple_key(triple) in there:
            pieces.setdefault(triple_key(triple), triple)
    removed = dict(list(pieces.items())[:number])
    return [_left(graph, removed.keys()) for graph in graphs], list(removed.values())


def _left(graph: Graph, gone: Any) -> Graph:
    qid = str(graph["qid"])
    left: Graph = {}
    for name, value in graph.items():
        if name == "qid":
            left[name] = value
            continue
        several = value if isinstance(value, list) else [value]
        kept = [
            one
            for one in several
            if one is None or triple_key((qid, name, format_value(one))) not in gone
        ]
        if kept == several:
            left[name] = value
        elif kept:
            left[name] = kept if len(kept) > 1 else kept[0]
    return left
