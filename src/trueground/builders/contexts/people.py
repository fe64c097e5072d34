"""What annotators are asked, and what the majority of them decides (Ming et al. 2024, 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from trueground.annotation.base import Label, Task
from trueground.builders.base import Dropped, Whole
from trueground.builders.contexts.items import Judged
from trueground.builders.contexts.ledger import Ledger, Why

KIND = "validity"
CONDITIONS = ("if", "only_if")
REASONS = {
    "unlabelled": "no label of people, or none that is decided",
    "voted_down": "most people find a condition not met",
}


def make_remembering(ledger: Ledger) -> Whole[Judged, Judged]:
    """Keeps in mind all that may be asked, as fewer are left when labels are there."""

    def work(items: Sequence[Judged]) -> list[Judged | Dropped]:
        ledger.asked = items
        return list(items)

    return Whole("ask", "Set the tasks for annotators", Judged, Judged, work)


def see_labels(labels: Mapping[str, Label]) -> Callable[[Judged], Why | None]:
    """Both conditions must be met in the eyes of the majority."""

    def see(judged: Judged) -> Why | None:
        label = labels.get(judged.id)
        if label is None:
            return "unlabelled", "it has no label"
        for name in CONDITIONS:
            value = label.values.get(name)
            if value == "no":
                return "voted_down", f"{name}: no"
            if value != "yes":
                return "unlabelled", f"{name} is not decided"
        return None

    return see


def task_of(judged: Judged) -> Task:
    """What annotators see of an item."""
    target = judged.written.target
    shown: dict[str, Any] = {
        "task": target.task,
        "question": target.source.question,
        "context": judged.written.context,
        "answer": target.answer,
    }
    if target.task == "counterfactual":
        shown["choices"] = [f"{c.label}. {c.text}" for c in target.source.choices]
    return Task(KIND, judged.id, shown)
