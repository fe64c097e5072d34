"""The dataset: both questions of each item, in our own form and in that of the published files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from trueground.annotation.base import Label
from trueground.benchmarks.kalma.source import FILES
from trueground.builders.base import Dataset
from trueground.builders.kalma.items import VERSIONS, Asked, Judged
from trueground.builders.kalma.people import task_id, tasks_of
from trueground.builders.quality.base import Piece
from trueground.text.citations.triples import flat, pairs_of

RUN = "trueground run kalma --data {dataset} --minimum {dataset}/minimum.json --model MODEL"
_encode = msgspec.json.Encoder().encode


def make_dataset(
    items: Sequence[Judged | Asked], asked: Sequence[Asked], labels: Mapping[str, Label]
) -> Dataset:
    """The files of the items that are left, and the tasks of all that may be `asked`.

    specific.jsonl and general.jsonl are for `kalma/questions`; the others have the published form,
    where an item stands in both files at the same place.
    """
    files = {}
    for version in VERSIONS:
        rows = [_row(item, version) for item in items]
        files[f"{version}.jsonl"] = b"".join(_encode(row) + b"\n" for row in rows)
        entries = [[item.question(version), list(item.graphs)] for item in items]
        files[f"{FILES[version]}.json"] = _array(entries)
    sets = [[item.question(v), list(item.facts)] for v in VERSIONS for item in items]
    files["minimum.json"] = _array(sets)
    return Dataset(
        files,
        [piece for item in items for piece in _pieces(item, labels)],
        RUN,
        factors=("question", "relation", "rounds"),
        tasks=[task for item in asked for task in tasks_of(item)],
    )


def _array(values: Sequence[Any]) -> bytes:
    """A JSON array with an entry a line."""
    return b"[\n" + b",\n".join(map(_encode, values)) + b"\n]\n"


def _row(item: Asked, version: str) -> dict[str, Any]:
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


def _pieces(item: Judged | Asked, labels: Mapping[str, Label]) -> Iterator[Piece]:
    pool = sum(1 for graph in item.graphs for _ in pairs_of(graph))
    for version in VERSIONS:
        verdict = item.verdicts.get(version) if isinstance(item, Judged) else None
        label = labels.get(task_id(item, version))
        numbers: dict[str, float] = {
            "gold_knowledge": len(item.facts),
            "knowledge": pool,
            "rounds": len(item.knowledge),
        }
        if verdict is not None:
            numbers["relevance_judged"] = len(verdict.needed) / len(item.facts)
        yield Piece(
            task_id(item, version),
            item.question(version),
            contexts=tuple(flat(graph) for graph in item.graphs),
            answers=(item.bare,),
            factors={
                "question": version,
                "relation": item.relation,
                "rounds": str(len(item.knowledge)),
            },
            numbers=numbers,
            answerable=None if verdict is None else verdict.authentic,
            human={} if label is None else {k: _said(v) for k, v in label.values.items()},
            annotators=0 if label is None else label.annotators,
        )


def _said(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
