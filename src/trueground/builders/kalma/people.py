"""What annotators are asked of a built item, and what their majority decides (C.1, C.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trueground.annotation.base import Label, Task
from trueground.builders.base import Dropped, Whole
from trueground.builders.kalma.items import VERSIONS, Asked
from trueground.builders.kalma.pool import for_people
from trueground.text.citations.reading import read_triples
from trueground.text.citations.triples import triple_key

QUALITY, ALIGNMENT = "quality", "alignment"
REASONS = {
    "unlabelled": "a question has no label of people, or none that is decided",
    "voted_down": "most people find that a question contradicts the facts",
}


def task_id(item: Asked, version: str) -> str:
    """The id of the task about one of the two questions."""
    return f"{item.id}/{version}"


def tasks_of(item: Asked) -> Iterator[Task]:
    """The quality of both questions, and whether each sentence says what it cites."""
    knowledge = [for_people(fact, item) for fact in item.facts]
    for version in VERSIONS:
        shown = {
            "question": item.question(version),
            "paragraph": item.bare,
            "knowledge": knowledge,
        }
        yield Task(QUALITY, task_id(item, version), shown)
    numbers = {triple_key(fact): n for n, fact in enumerate(item.facts, 1)}
    asked: set[int] = set()
    for sentence in read_triples(item.text, item.graphs):
        for one in sentence.citations:
            number = numbers.get(triple_key((one.qid, one.property, one.value)))
            if number is not None and number not in asked:
                asked.add(number)
                shown = {"sentence": sentence.text, "citation": knowledge[number - 1]}
                yield Task(ALIGNMENT, f"{item.id}/{number}", shown)


def make_remembering(asked: list[Asked]) -> Whole[Asked, Asked]:
    """Keeps in mind all that may be asked, as fewer are left where labels are there."""

    def work(items: Sequence[Asked]) -> list[Asked]:
        asked[:] = items
        return list(items)

    return Whole("ask", "Set the tasks for annotators", Asked, Asked, work)


def make_voting(labels: Mapping[str, Label]) -> Whole[Asked, Asked]:
    """Both questions must be authentic in the eyes of the majority."""

    def work(items: Sequence[Asked]) -> list[Asked | Dropped]:
        return [_voted(item, labels) or item for item in items]

    return Whole("people", "Follow the majority", Asked, Asked, work, REASONS)


def _voted(item: Asked, labels: Mapping[str, Label]) -> Dropped | None:
    for version in VERSIONS:
        label = labels.get(task_id(item, version))
        value = label.values.get("authenticity") if label else None
        if value == "no":
            return Dropped(item.id, "voted_down", f"{version}: authenticity no")
        if value != "yes":
            return Dropped(item.id, "unlabelled", f"{version}: authenticity is not decided")
    return None
