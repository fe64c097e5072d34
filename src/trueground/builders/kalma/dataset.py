"""The dataset: both questions of each item, in our own form and in that of the published files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from trueground.annotation.base import AnnotationTask
from trueground.benchmarks.kalma.source import FILES
from trueground.builders.base import BuiltDataset
from trueground.builders.kalma.choosing import COUNTS_FILE, RelationCounts
from trueground.builders.kalma.items import (
    VERSIONS,
    JudgedQuestion,
    QuestionRequest,
    QuestionVerdict,
    format_fact,
)
from trueground.builders.people import PeopleLabels
from trueground.builders.quality import BuiltItem
from trueground.text.citations import read_triples
from trueground.text.triples import format_graph, pairs_of, triple_key

QUALITY, ALIGNMENT = "quality", "alignment"
_JUDGED = "judged authentic"
_encode = msgspec.json.Encoder().encode


def tasks_of(item: QuestionRequest) -> Iterator[AnnotationTask]:
    """What annotators are asked (C.1, C.2): the quality of both questions, and whether each
    sentence says what it cites."""
    knowledge = [format_fact(fact, item) for fact in item.facts]
    for version in VERSIONS:
        shown = {
            "question": item.question(version),
            "paragraph": item.bare,
            "knowledge": knowledge,
        }
        yield AnnotationTask.of(QUALITY, f"{item.id}/{version}", shown)
    numbers = {triple_key(fact): n for n, fact in enumerate(item.facts, 1)}
    for sentence in read_triples(item.text, item.graphs):
        for one in sentence.citations:
            number = numbers.pop(triple_key((one.qid, one.property, one.value)), None)
            if number is not None:
                shown = {"sentence": sentence.text, "citation": knowledge[number - 1]}
                yield AnnotationTask.of(ALIGNMENT, f"{item.id}/{number}", shown)


def judged(item: QuestionRequest, task: AnnotationTask) -> dict[str, str]:
    """What the judge said of the same task, by field."""
    for version, verdict in verdicts_of(item).items():
        if task.kind == QUALITY and task.item == f"{item.id}/{version}":
            return {"authenticity": "yes" if verdict.authentic else "no"}
    return {}


def verdicts_of(item: QuestionRequest) -> Mapping[str, QuestionVerdict]:
    """What the judge said, by version; {} where it was not asked."""
    return item.verdicts if isinstance(item, JudgedQuestion) else {}


def make_dataset(
    items: Sequence[QuestionRequest], people: PeopleLabels, counts: RelationCounts
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
    files[COUNTS_FILE] = counts.encoded()
    factors = ["question", "relation", "rounds"]
    return BuiltDataset(
        files,
        [piece for item in items for piece in _pieces(item)],
        "trueground run kalma --data {dataset} --minimum {dataset}/minimum.json --model MODEL",
        factors=[*factors, _JUDGED] if any(map(verdicts_of, items)) else factors,
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


def _pieces(item: QuestionRequest) -> Iterator[BuiltItem]:
    rounds, facts = len(item.knowledge), len(item.facts)
    known = sum(1 for graph in item.graphs for _ in pairs_of(graph))
    for version in VERSIONS:
        factors = {"question": version, "relation": item.relation, "rounds": str(rounds)}
        numbers: dict[str, float] = {"gold_knowledge": facts, "knowledge": known, "rounds": rounds}
        if (verdict := verdicts_of(item).get(version)) is not None:
            factors[_JUDGED] = "yes" if verdict.authentic else "no"
            numbers["relevance_judged"] = len(verdict.needed) / facts
        yield BuiltItem(
            f"{item.id}/{version}",
            item.question(version),
            contexts=tuple(format_graph(graph) for graph in item.graphs),
            answers=(item.bare,),
            factors=factors,
            numbers=numbers,
        )
