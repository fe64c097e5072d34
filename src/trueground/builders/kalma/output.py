"""The dataset: both questions of each item, in our own form and in that of the published files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from trueground.benchmarks.kalma.source import FILES
from trueground.builders.base import BuiltDataset
from trueground.builders.kalma.counting import FILE as COUNTS
from trueground.builders.kalma.counting import RelationCounts
from trueground.builders.kalma.items import (
    VERSIONS,
    JudgedQuestion,
    QuestionRequest,
    QuestionVerdict,
)
from trueground.builders.kalma.people import judged, piece_id
from trueground.builders.people import PeopleLabels
from trueground.builders.quality import BuiltItem
from trueground.text.triples import format_graph, pairs_of

RUN = "trueground run kalma --data {dataset} --minimum {dataset}/minimum.json --model MODEL"
_FACTORS = ("question", "relation", "rounds")
_JUDGED = "judged authentic"
_encode = msgspec.json.Encoder().encode


def make_dataset(
    items: Sequence[JudgedQuestion | QuestionRequest], people: PeopleLabels, counts: RelationCounts
) -> BuiltDataset:
    """The files of the items that are left, and the tasks of all that came to the vote.

    specific.jsonl and general.jsonl are for `kalma/questions`; the others have the published form,
    where an item stands in both files at the same place. `counts` are those that chose triples.
    """
    files = {}
    for version in VERSIONS:
        rows = [_row(item, version) for item in items]
        files[f"{version}.jsonl"] = b"".join(_encode(row) + b"\n" for row in rows)
        entries = [[item.question(version), list(item.graphs)] for item in items]
        files[f"{FILES[version]}.json"] = _array(entries)
    sets = [[item.question(v), list(item.facts)] for v in VERSIONS for item in items]
    files["minimum.json"] = _array(sets)
    files[COUNTS] = counts.encoded()
    return BuiltDataset(
        files,
        [piece for item in items for piece in _pieces(item)],
        RUN,
        factors=[*_FACTORS, *([_JUDGED] if any(map(_verdicts, items)) else ())],
        tasks=people.tasks,
        human=people.account(judged),
    )


def _array(values: Sequence[Any]) -> bytes:
    """A JSON array with an entry a line."""
    return b"[\n" + b",\n".join(map(_encode, values)) + b"\n]\n"


def _row(item: QuestionRequest, version: str) -> dict[str, Any]:
    return {
        "id": item.id,
        "question": item.question(version),
        "knowledge": list(item.graphs),
        "gold_knowledge": list(item.facts),
        "group": "+".join(sorted(item.qids)),
        "meta": {
            "relation": item.relation,
            "edge": item.edge,
            "rounds": len(item.knowledge),
            "paragraph": item.bare,
            "annotated": item.text,
            "by_round": list(item.knowledge),
        },
    }


def _verdicts(item: JudgedQuestion | QuestionRequest) -> Mapping[str, QuestionVerdict]:
    return item.verdicts if isinstance(item, JudgedQuestion) else {}


def _pieces(item: JudgedQuestion | QuestionRequest) -> Iterator[BuiltItem]:
    pool = sum(1 for graph in item.graphs for _ in pairs_of(graph))
    for version in VERSIONS:
        verdict = _verdicts(item).get(version)
        factors = {
            "question": version,
            "relation": item.relation,
            "rounds": str(len(item.knowledge)),
        }
        numbers: dict[str, float] = {
            "gold_knowledge": len(item.facts),
            "knowledge": pool,
            "rounds": len(item.knowledge),
        }
        if verdict is not None:
            factors[_JUDGED] = "yes" if verdict.authentic else "no"
            numbers["relevance_judged"] = len(verdict.needed) / len(item.facts)
        yield BuiltItem(
            piece_id(item, version),
            item.question(version),
            contexts=tuple(format_graph(graph) for graph in item.graphs),
            answers=(item.bare,),
            factors=factors,
            numbers=numbers,
        )
