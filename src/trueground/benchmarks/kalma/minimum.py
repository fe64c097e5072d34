"""Minimum knowledge sets: from a file, with the questions, or drawn from the graphs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trueground.benchmarks.kalma.draws import ranked
from trueground.benchmarks.kalma.rows import read_items, refused, wrong
from trueground.benchmarks.kalma.source import GraphQuestion, question_key
from trueground.errors import InputError
from trueground.records.problems import Problem
from trueground.records.schema import to_record
from trueground.text.triples import pairs_of, plain_property, triple_key
from trueground.types import Triple

Sets = list[tuple[Triple, ...] | None]
_EXPECTED = '[question, [[qid, property, value], …]], or {"question": "…", "gold_knowledge": […]}'
# Properties that say little of a life: no synthetic minimum set has them.
TRIVIAL = frozenset(
    {
        "name",
        "instance of",
        "given name",
        "family name",
        "surname",
        "sex or gender",
        "topic's main category",
        "described by source",
    }
)


def read_sets(path: Path, entries: Sequence[GraphQuestion]) -> Sets:
    """Each entry's set in the file, None where it has none; questions are told apart by their text.

    A question that stands there once is for every entry that asks it; one that stands there several
    times, for these in their order. InputError: nothing fits, or too many sets for a question.
    """
    found: dict[str, list[tuple[Triple, ...]]] = {}
    for place, item in read_items(path, _EXPECTED):
        question, triples = _set(place, item)
        found.setdefault(question_key(question), []).append(triples)
    sets = _matched(path, entries, found)
    if all(one is None for one in sets):
        shown = entries[0].question
        raise InputError(
            f"{path}: found no set for any of the {len(sets):,} questions asked; expected "
            f"{_EXPECTED} with questions such as {shown!r}"
        )
    return sets


def drawn_sets(entries: Sequence[GraphQuestion], size: int, seed: int) -> Sets:
    """For each entry `size` triples of its graphs, or all that are not trivial, in drawn order.

    A larger size only adds. None for an entry without such triples.
    """
    return [_drawn(entry, size, seed) for entry in entries]


def _drawn(entry: GraphQuestion, size: int, seed: int) -> tuple[Triple, ...] | None:
    triples = {
        triple_key((str(graph["qid"]), name, value)): [str(graph["qid"]), name, value]
        for graph in entry.graphs or ()
        for name, value in pairs_of(graph)
        if plain_property(name) not in TRIVIAL
    }
    order = ranked(triples, f"{seed}/{entry.id}")
    return tuple(triples[key] for key in order[:size]) or None


def _matched(
    path: Path, entries: Sequence[GraphQuestion], found: Mapping[str, list[tuple[Triple, ...]]]
) -> Sets:
    named = [next((name for name in entry.names if name in found), None) for entry in entries]
    counts = Counter(named)
    taken: Counter[str] = Counter()
    sets: Sets = []
    for name, entry in zip(named, entries, strict=True):
        if name is None:
            sets.append(None)
            continue
        own = found[name]
        if len(own) not in (1, counts[name]):
            raise InputError(
                f"{path}: found {len(own)} sets for the question {entry.question!r}; expected one, "
                f"or one for each of the {counts[name]} times that it is asked"
            )
        sets.append(own[taken[name] if len(own) > 1 else 0])
        taken[name] += 1
    return sets


def _set(place: str, item: Any) -> tuple[str, tuple[Triple, ...]]:
    if isinstance(item, list) and len(item) == 2:
        item = {"question": item[0], "gold_knowledge": item[1]}
    if not isinstance(item, dict):
        raise wrong(place, item, _EXPECTED)
    row = {name: item.get(name) for name in ("question", "gold_knowledge")}
    try:
        record = to_record({**row, "response": ""}, None, 0)
    except Problem as problem:
        raise refused(place, problem) from None
    if not (record.question or "").strip() or record.gold_knowledge is None:
        raise wrong(place, item, _EXPECTED)
    return record.question or "", tuple(record.gold_knowledge)
