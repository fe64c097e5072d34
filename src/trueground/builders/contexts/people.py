"""What annotators are asked of a changed context (Ming et al. 2024, 3.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from trueground.annotation.base import AnnotationTask
from trueground.builders.contexts.items import JudgedContext
from trueground.builders.contexts.weighing import conditions

KIND = "validity"


def tasks_of(judged: JudgedContext) -> Iterable[AnnotationTask]:
    """The one task of an item."""
    return [task_of(judged)]


def task_of(judged: JudgedContext) -> AnnotationTask:
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
    return AnnotationTask.of(KIND, judged.id, shown)


def as_judged(judged: JudgedContext, _task: AnnotationTask) -> Mapping[str, str]:
    """What the first judge said of the same task."""
    return conditions(judged.written, judged.verdict)
