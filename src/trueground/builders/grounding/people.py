"""Human labels: gold facts that people chose, and what they voted down."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from trueground.annotation.base import Label, Task
from trueground.annotation.labels import read_labels
from trueground.builders.base import Dropped, Whole
from trueground.builders.grounding.instances import Factual, Instance
from trueground.builders.grounding.items import Context, Pair

# Kinds of tasks with the field by which people keep an instance or not.
VOTES = {"candidate": "keep", "revision": "right"}
_REASONS = {
    "unlabelled": "people have not decided about it",
    "voted_down": "people voted against it",
}
_canonical = msgspec.json.Encoder(order="sorted").encode


def task(kind: str, pair: str, shown: dict[str, Any]) -> Task:
    """A task; its id changes with what is shown, so that no label meets another text."""
    digest = hashlib.sha256(_canonical(shown)).hexdigest()[:8]
    return Task(kind, f"{pair}~{digest}", shown)


def candidate_task(pair: Pair) -> Task:
    """Class, minimal contexts, span and answer forms of a pair."""
    return task("candidate", pair.id, _asked(pair))


def gold_task(item: Factual) -> Task:
    """Which facts does the answer need?"""
    facts = [fact.text for fact in item.facts]
    return task("gold-facts", item.id, _asked(item.pair) | {"facts": facts})


def revision_task(item: Instance) -> Task | None:
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
    return task("revision", item.id, shown)


def answer_of(answer: str, answers: Sequence[str]) -> str:
    """An answer for people: in words, and all forms of a definite one."""
    return f"{answer} ({' / '.join(answers)})" if answers else answer


def labelled_gold(path: Path | None) -> Whole[Factual, Factual] | None:
    """The stage that gives pairs the gold facts that people chose; None where no one did.

    InputError: labels that cannot be read.
    """
    labels = read_labels(path, "gold-facts") if path is not None else {}
    if not labels:
        return None

    def work(items: Sequence[Factual]) -> list[Factual]:
        return [_with_label(item, labels.get(gold_task(item).id)) for item in items]

    doc = "Take the gold facts that people chose"
    return Whole(name="labelled", doc=doc, takes=Factual, gives=Factual, work=work)


def voted(path: Path | None) -> Whole[Instance, Instance] | None:
    """The stage that keeps what people voted for; None where nobody voted. InputError."""
    if path is None:
        return None
    labels = {kind: found for kind in VOTES if (found := read_labels(path, kind))}
    if not labels:
        return None

    def work(items: Sequence[Instance]) -> list[Instance | Dropped]:
        return [_vote(item, labels) for item in items]

    doc = "Keep what people voted for"
    return Whole(name="voted", doc=doc, takes=Instance, gives=Instance, work=work, reasons=_REASONS)


_TASKS: Mapping[str, Callable[[Instance], Task | None]] = {
    "candidate": lambda item: candidate_task(item.original.pair),
    "revision": revision_task,
}


def _vote(item: Instance, labels: Mapping[str, Mapping[str, Label]]) -> Instance | Dropped:
    for kind, found in labels.items():
        asked = _TASKS[kind](item)
        if asked is None:
            continue
        label = found.get(asked.id)
        said = label.values.get(VOTES[kind]) if label is not None else None
        if said is None:
            return Dropped(item.id, "unlabelled", kind)
        if str(said) != "yes":
            return Dropped(item.id, "voted_down", kind)
    return item


def _with_label(item: Factual, label: Label | None) -> Factual:
    """Numbers are shown to people from 1; one that is none of the facts is no decision."""
    said = label.values.get("gold") if label is not None else None
    if not isinstance(said, list):
        return item
    numbers = [int(one) - 1 if str(one).isascii() and str(one).isdigit() else -1 for one in said]
    if not numbers or not all(0 <= number < len(item.facts) for number in numbers):
        return item
    return msgspec.structs.replace(item, labelled=tuple(sorted(set(numbers))))


def _asked(pair: Pair) -> dict[str, Any]:
    return {
        "question": pair.question,
        "answer": answer_of(pair.answer, pair.answers),
        "contexts": _contexts(pair.contexts),
    }


def _contexts(contexts: Sequence[Context]) -> list[dict[str, str]]:
    return [{"title": context.title, "text": context.text} for context in contexts]
