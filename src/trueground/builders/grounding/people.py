"""What people are asked about questions, gold facts and conflicting versions (A.2, A.4, A.5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from trueground.annotation.base import AnnotationTask, Label
from trueground.builders.base import BatchStage
from trueground.builders.grounding.instances import Factual, Instance
from trueground.builders.grounding.items import Context, GroundedPair
from trueground.builders.grounding.prompting import answer_of
from trueground.builders.people import REASONS, PeopleLabels
from trueground.builders.rejected import Rejected

CANDIDATE, GOLD, REVISION = "candidate", "gold-facts", "revision"
_REASONS = {
    "unlabelled": REASONS["unlabelled"],
    "no_gold_facts": "people chose no fact: the answer needs something else",
}


def people_of(labels: Path | None) -> PeopleLabels:
    """The tasks of instances, and the labels that came back. InputError."""
    return PeopleLabels((CANDIDATE, GOLD, REVISION), _tasks, labels)


def judged(_item: Any, task: AnnotationTask) -> Mapping[str, str]:
    """What the judge model said of the same: it lets no pair and no revision through but by yes."""
    return {CANDIDATE: {"keep": "yes"}, REVISION: {"right": "yes"}}.get(task.kind, {})


def labelled_gold(people: PeopleLabels) -> BatchStage[Factual, Factual] | None:
    """The stage that gives pairs the gold facts that people chose; None where no one did.

    A pair that people were not asked about keeps what models propose.
    """
    if GOLD not in people.labels:
        return None

    def work(items: Sequence[Factual]) -> list[Factual | Rejected]:
        made = [_with_label(item, people.label(gold_task(item))) for item in items]
        pairs = zip(items, made, strict=True)
        people.decided_before([item for item, one in pairs if isinstance(one, Rejected)])
        return made

    doc = "Take the gold facts that people chose"
    return BatchStage("labelled", doc, Factual, Factual, work, _REASONS)


def _with_label(item: Factual, label: Label | None) -> Factual | Rejected:
    """Numbers are shown to people from 1; one that is none of the facts is no decision."""
    if label is None:
        return item
    said = label.values.get("gold")
    numbers = [_number(one) for one in said] if isinstance(said, list) else [-1]
    made = {"question": item.pair.question, "facts": [fact.text for fact in item.facts]}
    if not all(0 <= number < len(item.facts) for number in numbers):
        return Rejected("unlabelled", f"{label.id}: gold is not decided", made, id=item.id)
    if not numbers:
        return Rejected("no_gold_facts", f"{label.id}: gold is none of them", made, id=item.id)
    return msgspec.structs.replace(item, labelled=tuple(sorted(set(numbers))))


def _number(written: Any) -> int:
    """From 0; -1 for what is no number."""
    text = str(written)
    return int(text) - 1 if text.isascii() and text.isdecimal() else -1


def _tasks(item: Instance | Factual) -> Iterator[AnnotationTask]:
    """All tasks of an item, or those of one that fell by its gold facts."""
    one = item if isinstance(item, Factual) else item.original
    yield candidate_task(one.pair)
    yield gold_task(Factual(one.id, one.pair, one.facts))
    revision = revision_task(item) if isinstance(item, Instance) else None
    if revision is not None:
        yield revision


def candidate_task(pair: GroundedPair) -> AnnotationTask:
    """Class, minimal contexts, span and answer forms of a pair."""
    return AnnotationTask.of(CANDIDATE, pair.id, _asked(pair))


def gold_task(item: Factual) -> AnnotationTask:
    """Which facts does the answer need?"""
    facts = [fact.text for fact in item.facts]
    return AnnotationTask.of(GOLD, item.id, _asked(item.pair) | {"facts": facts})


def revision_task(item: Instance) -> AnnotationTask | None:
    """Is the conflicting version right, and what was changed? None where there is none."""
    new, old = item.conflict, item.original
    if new is None:
        return None
    shown = _asked(old.pair) | {
        "gold_facts": list(old.gold_texts),
        "new_question": new.question,
        "new_answer": answer_of(new.answer, new.answers),
        "new_contexts": _contexts(new.contexts),
        "new_gold_facts": list(new.gold),
    }
    return AnnotationTask.of(REVISION, item.id, shown)


def _asked(pair: GroundedPair) -> dict[str, Any]:
    return {
        "question": pair.question,
        "answer": answer_of(pair.answer, pair.answers),
        "contexts": _contexts(pair.contexts),
    }


def _contexts(contexts: Sequence[Context]) -> list[dict[str, str]]:
    return [{"title": context.title, "text": context.text} for context in contexts]
