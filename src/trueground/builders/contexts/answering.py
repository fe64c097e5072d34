"""The answer that a new context is to support: made up, drawn, or none (Ming et al. 2024, 3.1)."""

from __future__ import annotations

import random
from collections.abc import Sequence

import msgspec

from trueground.builders.ask import Ask
from trueground.builders.base import Stage, Usual
from trueground.builders.checks import says
from trueground.builders.contexts.items import UNKNOWN, Sample, Target
from trueground.builders.contexts.rows import CONTROL
from trueground.builders.contexts.strings import alike, is_common, is_verdict, says_nothing
from trueground.builders.fallen import Fallen
from trueground.judges.marks import block, mark_for
from trueground.models.prompts import Prompt

PLACES = ("question", "context", "answers", "mark")
_LONGEST = 30  # words of a new answer, or twice those of the longest old one
_REASONS = {
    "same_answer": "the new answer is an old one, holds one, or is held by one",
    "no_new_answer": "the new answer says nothing, or is too long to be one",
    "answer_in_original": "the new answer stands in the original context: it is not made up",
}


class NewAnswer(msgspec.Struct, frozen=True):
    """A made-up answer and the model's reason for it."""

    new_answer: str
    justification: str


def make_answering(prompt: Prompt, seed: int, share: float) -> Stage[Sample, Target]:
    """`share` is how many of the samples need a model's answer, for an estimate."""

    async def work(sample: Sample, ask: Ask) -> Sequence[Target]:
        if sample.task == "unanswerable":
            return [Target(sample.id, sample.task, sample.source, UNKNOWN)]
        if sample.task == "counterfactual":
            return [_drawn(sample, seed)]
        return [await _made_up(sample, prompt, ask)]

    return Stage(
        "answer",
        "Choose or make up the new answer",
        Sample,
        Target,
        work,
        _REASONS,
        identity={"seed": seed},
        prompts=(prompt.file,),
        roles=("writer",),
        usual=lambda tokens: [Usual("writer", share, tokens + 300, 60)],
    )


def _drawn(sample: Sample, seed: int) -> Target:
    """A wrong option, by seed and id; the order of the options does not matter."""
    source = sample.source
    right = next(choice.text for choice in source.choices if choice.label == source.key)
    wrong = [c for c in source.choices if c.label != source.key]
    others = [c for c in wrong if c.text.casefold() != right.casefold()]
    if not others:
        raise Fallen("same_answer", "every other option reads as the right one")
    ordered = sorted(others, key=lambda choice: choice.label)
    chosen = random.Random(f"{seed}/{sample.id}").choice(ordered)
    return Target(sample.id, sample.task, source, chosen.text, chosen.label)


async def _made_up(sample: Sample, prompt: Prompt, ask: Ask) -> Target:
    """Step 1 of inconsistent (appendix D). Fallen."""
    source = sample.source
    answers = "\n".join(source.answers)
    mark = mark_for([source.context, source.question, answers])
    messages = prompt.fill(
        {
            "question": block("QUESTION", source.question, mark),
            "context": block("CONTEXT", source.context, mark),
            "answers": block("ANSWERS", answers, mark),
            "mark": mark,
        }
    )
    made = await ask.object("writer", messages, NewAnswer)
    answer = " ".join(made.new_answer.split())
    _see(answer, sample)
    return Target(sample.id, sample.task, source, answer, why=made.justification)


def _see(answer: str, sample: Sample) -> None:
    """The made-up answer is an answer, and a new one. Fallen."""
    source = sample.source
    longest = max(_LONGEST, *(2 * len(old.split()) for old in source.answers))
    if says_nothing(answer) or CONTROL.search(answer) or len(answer.split()) > longest:
        raise Fallen("no_new_answer", f"the new answer is {answer[:200]!r}")
    old = alike(answer, source.answers)
    if old is not None:
        raise Fallen("same_answer", f"the new answer is {answer!r}, an old one {old!r}")
    if not (is_common(answer) or is_verdict(answer)) and says(source.context, answer):
        raise Fallen("answer_in_original", f"{answer!r} stands in the original context")
