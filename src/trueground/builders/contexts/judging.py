"""A judge, and a second one for a sample, read the new contexts (Ming et al. 2024, 3.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from trueground.builders.ask import Ask
from trueground.builders.base import BatchStage, CallEstimate, Stage
from trueground.builders.contexts.items import (
    ContextVerdict,
    JudgedContext,
    TaskName,
    WrittenContext,
)
from trueground.builders.contexts.sizes import SampleSizes, around
from trueground.builders.contexts.weighing import WEIGHING, weigh
from trueground.builders.contexts.writing import prompt_messages
from trueground.builders.draws import key
from trueground.builders.rejected import Rejected
from trueground.models.prompts import Prompt

PLACES: Mapping[str, tuple[str, ...]] = {
    "unanswerable": ("question", "context", "answers", "mark"),
    "inconsistent": ("question", "context", "answers", "new_answer", "mark"),
    "counterfactual": ("question", "context", "options", "new_answer", "mark"),
}
Prompts = Mapping[TaskName, Prompt]


def make_judging(prompts: Prompts, sizes: SampleSizes) -> Stage[WrittenContext, JudgedContext]:
    """Asks the judge. What speaks against the context is noted; it falls in a later stage."""

    async def work(written: WrittenContext, ask: Ask) -> Sequence[JudgedContext]:
        verdict = await _verdict("judge", written, prompts, ask)
        return [JudgedContext(written.id, written, verdict, weigh(written, verdict))]

    return Stage(
        "judge",
        "Ask the judge",
        WrittenContext,
        JudgedContext,
        work,
        identity={"weighing": WEIGHING},
        prompts=[prompt.file for prompt in prompts.values()],
        roles=("judge",),
        calls=[CallEstimate("judge", lambda _: sizes.made() + around(*prompts.values()), 150)],
    )


def make_sampling(number: int, seed: int) -> BatchStage[JudgedContext, JudgedContext]:
    """Marks the items that the second judge sees, by seed and id."""

    def work(items: Sequence[JudgedContext]) -> list[JudgedContext]:
        order = sorted(items, key=lambda judged: key(f"second/{seed}", judged.id))
        chosen = {one.id for one in order[:number]}
        return [msgspec.structs.replace(one, sampled=one.id in chosen) for one in items]

    return BatchStage(
        "sample", "Draw those that are judged again", JudgedContext, JudgedContext, work
    )


def make_second(
    prompts: Prompts, drops: bool, number: int, sizes: SampleSizes
) -> Stage[JudgedContext, JudgedContext]:
    """Asks the second judge, `number` times at most.

    Without `drops` an unreadable reply of it loses no item.
    """

    async def work(judged: JudgedContext, ask: Ask) -> Sequence[JudgedContext]:
        if not judged.sampled:
            return [judged]
        try:
            second = await _verdict("second-judge", judged.written, prompts, ask)
        except Rejected as rejected:
            if drops or rejected.transient:
                raise
            return [judged]
        against = weigh(judged.written, second)
        return [msgspec.structs.replace(judged, second=second, second_against=against)]

    return Stage(
        "second",
        "Ask the second judge",
        JudgedContext,
        JudgedContext,
        work,
        identity={"drops": drops, "weighing": WEIGHING},
        prompts=[prompt.file for prompt in prompts.values()],
        roles=("second-judge",),
        calls=[
            CallEstimate(
                "second-judge",
                lambda _: sizes.made() + around(*prompts.values()),
                150,
                applies=lambda one: one.sampled,
                most=number,
            )
        ],
    )


async def _verdict(
    role: str, written: WrittenContext, prompts: Prompts, ask: Ask
) -> ContextVerdict:
    target = written.target
    messages = prompt_messages(prompts[target.task], target, written.context)
    return await ask.object(role, messages, ContextVerdict)
