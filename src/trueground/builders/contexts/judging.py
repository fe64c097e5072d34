"""The "if" and the "only-if" condition, by a judge and a second one (Ming et al. 2024, 3.2)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence

import msgspec

from trueground.builders.ask import Ask
from trueground.builders.base import Stage, Usual, Whole
from trueground.builders.checks import same_text
from trueground.builders.contexts.items import Judged, Target, TaskName, Verdict, Written
from trueground.builders.contexts.ledger import Ledger, Why
from trueground.builders.contexts.strings import alike, quoted, says_nothing
from trueground.builders.contexts.writing import prompt_messages
from trueground.builders.fallen import Fallen
from trueground.models.prompts import Prompt

PLACES: Mapping[str, tuple[str, ...]] = {
    "unanswerable": ("question", "context", "answers", "mark"),
    "inconsistent": ("question", "context", "answers", "new_answer", "mark"),
    "counterfactual": ("question", "context", "options", "new_answer", "mark"),
}
REASONS = {
    "not_supported": "if: the new context does not support the new answer",
    "old_answer_supported": "only-if: the new context still supports the old answer",
    "other_answer": "only-if: the new context supports another answer",
    "quote_not_found": "the judge's evidence does not stand in the new context",
    "second_judge": "the second judge finds it invalid (--second drop)",
}
Prompts = Mapping[TaskName, Prompt]


def make_judging(prompts: Prompts) -> Stage[Written, Judged]:
    """Asks the judge. What it says is weighed in a later stage, beside the second judge."""

    async def work(written: Written, ask: Ask) -> Sequence[Judged]:
        return [Judged(written.id, written, await _verdict("judge", written, prompts, ask))]

    return Stage(
        "judge",
        "Ask the judge",
        Written,
        Judged,
        work,
        prompts=[prompt.file for prompt in prompts.values()],
        roles=("judge",),
        usual=lambda tokens: [Usual("judge", 1, tokens + 450, 120)],
    )


def make_sampling(number: int, seed: int) -> Whole[Judged, Judged]:
    """Marks the items that the second judge sees, by seed and id."""

    def order(judged: Judged) -> bytes:
        return hashlib.sha256(f"{seed}/{judged.id}".encode("utf-8", "replace")).digest()

    def work(items: Sequence[Judged]) -> list[Judged]:
        chosen = {one.id for one in sorted(items, key=order)[:number]}
        return [msgspec.structs.replace(one, sampled=one.id in chosen) for one in items]

    return Whole("sample", "Draw those that are judged again", Judged, Judged, work)


def make_second(prompts: Prompts, drops: bool, share: float) -> Stage[Judged, Judged]:
    """Asks the second judge. Without `drops` an unreadable reply of it loses no item."""

    async def work(judged: Judged, ask: Ask) -> Sequence[Judged]:
        if not judged.sampled:
            return [judged]
        try:
            second = await _verdict("second-judge", judged.written, prompts, ask)
        except Fallen as fallen:
            if drops or fallen.passing:
                raise
            return [judged]
        return [msgspec.structs.replace(judged, second=second)]

    return Stage(
        "second",
        "Ask the second judge",
        Judged,
        Judged,
        work,
        identity={"drops": drops},
        prompts=[prompt.file for prompt in prompts.values()],
        roles=("second-judge",),
        usual=lambda tokens: [Usual("second-judge", share, tokens + 450, 120)],
    )


async def _verdict(role: str, written: Written, prompts: Prompts, ask: Ask) -> Verdict:
    target = written.target
    messages = prompt_messages(prompts[target.task], target, written.context)
    return await ask.object(role, messages, Verdict)


def see_judged(ledger: Ledger, drops: bool) -> Callable[[Judged], Why | None]:
    """Why a judged context is not valid; the verdicts of both judges go into the ledger."""

    def see(judged: Judged) -> Why | None:
        why = weigh(judged.written, judged.verdict)
        if judged.second is None:
            return why
        second = weigh(judged.written, judged.second)
        ledger.verdicts[judged.id] = (why is None, second is None)
        if why is None and second is not None and drops:
            return "second_judge", f"{second[0]}: {second[1]}"
        return why

    return see


def weigh(written: Written, verdict: Verdict) -> Why | None:
    """What the verdict says against the context; one that contradicts itself speaks against it."""
    target = written.target
    if target.task == "unanswerable":
        return _without_answer(written, verdict)
    own = _option_text(target, verdict.answer)
    if not verdict.holds or says_nothing(own):
        return "not_supported", f"the judge answers {verdict.answer!r}"
    if not quoted(written.context, verdict.quote):
        return "quote_not_found", f"it quotes {verdict.quote!r}"[:400]
    for other in verdict.others:
        if not same_text(other.answer, target.answer) and not says_nothing(other.answer):
            return _against(target, other.answer, f"quoting {other.quote!r}"[:400])
    if alike(own, [target.answer]) is None and _is_wrong(target, own):
        return _against(target, own, "in its own words")
    return None


def _without_answer(written: Written, verdict: Verdict) -> Why | None:
    if verdict.holds:
        return "old_answer_supported", f"the judge quotes {verdict.quote!r}"[:400]
    for other in verdict.others:
        if not says_nothing(other.answer):
            return _against(written.target, other.answer, f"quoting {other.quote!r}"[:400])
    if not says_nothing(verdict.answer):
        return _against(written.target, verdict.answer, "in its own words")
    return None


def _against(target: Target, answer: str, how: str) -> Why:
    old = alike(answer, target.old_answers) is not None
    return ("old_answer_supported" if old else "other_answer"), f"the judge finds {answer!r}, {how}"


def _option_text(target: Target, answer: str) -> str:
    """The option that a judge names by its label alone, or with it; else what it says."""
    for choice in target.source.choices:
        if answer.strip().rstrip(".") == choice.label or same_text(
            answer, f"{choice.label}. {choice.text}"
        ):
            return choice.text
    return answer


def _is_wrong(target: Target, answer: str) -> bool:
    """Is it the old answer, or another option?"""
    if target.task == "inconsistent":
        return alike(answer, target.old_answers) is not None
    return any(same_text(answer, choice.text) for choice in target.source.choices)
