"""The answer that a new context is to support: made up, drawn, or none (Ming et al. 2024, 3.1)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from trueground.builders.ask import Ask
from trueground.builders.base import CallEstimate, Stage
from trueground.builders.checks import says, words
from trueground.builders.contexts.items import UNKNOWN, Sample, Target, TaskName, Why
from trueground.builders.contexts.sizes import SampleSizes, around
from trueground.builders.contexts.strings import alike, is_common, is_verdict, says_nothing
from trueground.builders.draws import draw
from trueground.builders.rejected import Rejected
from trueground.builders.rows import ODD
from trueground.models.marks import block, mark_for
from trueground.models.prompts import Prompt

PLACES = ("question", "context", "answers", "mark")
_MADE_UP: TaskName = "inconsistent"
_RULES = 1  # part of what outcomes are kept under: a change of what is drawn or refused counts
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


def make_answering(prompt: Prompt, seed: int, sizes: SampleSizes) -> Stage[Sample, Target]:
    """Only `inconsistent` asks the writer."""

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
        identity={"rules": _RULES, "seed": seed},
        prompts=(prompt.file,),
        roles=("writer",),
        calls=[
            CallEstimate(
                "writer",
                lambda _: sizes.source(_MADE_UP) + around(prompt),
                80,
                applies=lambda sample: sample.task == _MADE_UP,
            )
        ],
    )


def _drawn(sample: Sample, seed: int) -> Target:
    """A wrong option, by seed and id; the order of the options does not matter."""
    source = sample.source
    right = next(choice.text for choice in source.choices if choice.label == source.key)
    wrong = [c for c in source.choices if c.label != source.key]
    others = [c for c in wrong if c.text.casefold() != right.casefold()]
    if not others:
        raise Rejected("same_answer", "every other option reads as the right one")
    chosen = draw(f"option/{seed}", sample.id, others, lambda choice: choice.label)
    return Target(sample.id, sample.task, source, chosen.text, chosen.label)


async def _made_up(sample: Sample, prompt: Prompt, ask: Ask) -> Target:
    """Step 1 of inconsistent (appendix D). Rejected."""
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
    why = _check(answer, sample)
    if why is not None:
        refused = {"question": source.question, "old_answers": source.answers}
        made_up = {"new_answer": made.new_answer, "justification": made.justification}
        raise Rejected(*why, content=refused | made_up)
    return Target(sample.id, sample.task, source, answer, why=made.justification)


def _check(answer: str, sample: Sample) -> Why | None:
    """Why a made-up answer is none, or no new one."""
    source = sample.source
    longest = max(_LONGEST, *(2 * words(old) for old in source.answers))
    if says_nothing(answer) or ODD.search(answer):
        return "no_new_answer", f"the new answer is {answer[:200]!r}"
    if words(answer) > longest:
        return "no_new_answer", f"the new answer has {words(answer):,} words, most {longest:,}"
    old = alike(answer, source.answers)
    if old is not None:
        return "same_answer", f"the new answer is {answer!r}, an old one {old!r}"
    if not (is_common(answer) or is_verdict(answer)) and says(source.context, answer):
        return "answer_in_original", f"{answer!r} stands in the original context"
    return None
