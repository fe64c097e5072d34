"""What annotators are asked of a built item (Li et al. 2024, C.1, C.2)."""

from __future__ import annotations

from collections.abc import Iterator

from trueground.annotation.base import AnnotationTask
from trueground.builders.kalma.items import VERSIONS, QuestionRequest
from trueground.builders.kalma.pool import for_people
from trueground.text.citations import read_triples
from trueground.text.triples import triple_key

QUALITY, ALIGNMENT = "quality", "alignment"
KINDS = (QUALITY, ALIGNMENT)


def tasks_of(item: QuestionRequest) -> Iterator[AnnotationTask]:
    """The quality of both questions, and whether each sentence says what it cites."""
    knowledge = [for_people(fact, item) for fact in item.facts]
    for version in VERSIONS:
        shown = {
            "question": item.question(version),
            "paragraph": item.bare,
            "knowledge": knowledge,
        }
        yield AnnotationTask.of(QUALITY, piece_id(item, version), shown)
    numbers = {triple_key(fact): n for n, fact in enumerate(item.facts, 1)}
    asked: set[int] = set()
    for sentence in read_triples(item.text, item.graphs):
        for one in sentence.citations:
            number = numbers.get(triple_key((one.qid, one.property, one.value)))
            if number is not None and number not in asked:
                asked.add(number)
                shown = {"sentence": sentence.text, "citation": knowledge[number - 1]}
                yield AnnotationTask.of(ALIGNMENT, f"{item.id}/{number}", shown)


def piece_id(item: QuestionRequest, version: str) -> str:
    """The id of one of the two questions."""
    return f"{item.id}/{version}"


def judged(item: QuestionRequest, task: AnnotationTask) -> dict[str, str]:
    """What the judge said of the same task, by field."""
    verdicts = getattr(item, "verdicts", {})
    for version in VERSIONS:
        if task.kind == QUALITY and task.item == piece_id(item, version) and version in verdicts:
            return {"authenticity": "yes" if verdicts[version].authentic else "no"}
    return {}
