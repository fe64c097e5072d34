"""Questions → samples, one for each task that the question allows."""

from __future__ import annotations

from collections.abc import Sequence

from trueground.builders.base import BatchStage
from trueground.builders.checks import says
from trueground.builders.contexts.items import ContextQuestion, Sample, TaskName
from trueground.builders.contexts.settings import ContextsSettings
from trueground.builders.contexts.sizes import SampleSizes
from trueground.builders.contexts.strings import can_be_joined, is_verdict
from trueground.builders.rejected import Rejected

_REASONS = {
    "answer_not_in_context": "no form of the answer stands in the context, so it cannot be changed",
    "heading": "a line of the context begins as those that part the two documents",
}


def make_tasks(
    settings: ContextsSettings, sizes: SampleSizes
) -> BatchStage[ContextQuestion, Sample]:
    """Fans the questions out. A yes or no need not stand in the context."""

    def work(questions: Sequence[ContextQuestion]) -> list[Sample | Rejected]:
        found = [
            _sample(question, task, settings) for question in questions for task in question.tasks
        ]
        sizes.samples = [one for one in found if isinstance(one, Sample)]
        return found

    return BatchStage("tasks", "Give each its tasks", ContextQuestion, Sample, work, _REASONS, 2.0)


def _sample(
    question: ContextQuestion, task: TaskName, settings: ContextsSettings
) -> Sample | Rejected:
    name = f"{question.id}/{task}"
    if task == "counterfactual":
        return Sample(name, task, question)
    if settings.require_answer and not _has_answer(question):
        detail = f"none of {', '.join(map(repr, question.answers))} stands in the context"
        return Rejected("answer_not_in_context", detail, id=name)
    if task == "inconsistent" and not can_be_joined(question.context):
        return Rejected("heading", "a line begins with `Document:`; write it otherwise", id=name)
    return Sample(name, task, question)


def _has_answer(question: ContextQuestion) -> bool:
    return any(is_verdict(a) or says(question.context, a) for a in question.answers)
