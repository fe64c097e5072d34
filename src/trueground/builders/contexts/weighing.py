"""What verdicts say against a context, by the "if" and the "only-if" condition.

Source: Ming et al. 2024, section 3.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trueground.builders.base import BatchStage
from trueground.builders.checks import quoted, same_text
from trueground.builders.contexts.items import (
    ContextVerdict,
    JudgedContext,
    Target,
    Why,
    WrittenContext,
)
from trueground.builders.contexts.strings import alike, says_nothing
from trueground.builders.rejected import Rejected
from trueground.stats.agreement import table_of, two_judges

WEIGHING = 1  # part of what verdicts are kept under: a change of what is weighed counts here
_SECOND = "second_judge"
_REASONS = {
    "not_supported": "if: the new context does not support the new answer",
    "old_answer_supported": "only-if: the new context still supports the old answer",
    "other_answer": "only-if: the new context supports another answer",
    "quote_not_found": "the judge's evidence does not stand in the new context",
    _SECOND: "the second judge finds it invalid (--second drop)",
}


class Weighed:
    """The stage that lets fall what a judge finds invalid; it notes how two judges agree."""

    def __init__(self, second_drops: bool) -> None:
        self._drops = second_drops
        self._judged_twice: Sequence[JudgedContext] = ()

    @property
    def stage(self) -> BatchStage[JudgedContext, JudgedContext]:
        """The stage."""
        doc = "Let fall what a judge finds invalid"
        return BatchStage("valid", doc, JudgedContext, JudgedContext, self._work, _REASONS)

    def agreement(self) -> dict[str, object] | None:
        """How two judges agree on what is valid, before anything falls; None without a second one.

        {"items", "agreement": share, "kappa", "kappa_ci": 95%, by question, "table"}; `table` has
        the first judge's verdicts as rows, the second's as columns; valid comes first.
        """
        if not self._judged_twice:
            return None
        pairs = [(one.against is None, one.second_against is None) for one in self._judged_twice]
        found = two_judges(pairs, [one.written.target.source.id for one in self._judged_twice])
        return {
            "items": found["n"],
            "agreement": found["agree"],
            "kappa": found["kappa"],
            "kappa_ci": found["kappa_ci"],
            "table": table_of(pairs).tolist(),
        }

    def _work(self, items: Sequence[JudgedContext]) -> list[JudgedContext | Rejected]:
        self._judged_twice = [one for one in items if one.second is not None]
        return [self._check(one) for one in items]

    def _check(self, judged: JudgedContext) -> JudgedContext | Rejected:
        why, second = judged.against, judged.second_against
        if why is None and second is not None and self._drops:
            why = (_SECOND, f"{second[0]}: {second[1]}")
        if why is None:
            return judged
        said = {"verdict": judged.verdict, "second_verdict": judged.second}
        return Rejected(*why, judged.written.refused() | said, id=judged.id)


def weigh(written: WrittenContext, verdict: ContextVerdict) -> Why | None:
    """What the verdict says against the context; one that contradicts itself speaks against it."""
    return _against_if(written, verdict) or _against_only_if(written, verdict)


def conditions(written: WrittenContext, verdict: ContextVerdict) -> Mapping[str, str]:
    """The verdict as yes or no to both conditions, as annotators are asked (kind `validity`)."""
    first = _against_if(written, verdict)
    only = _against_only_if(written, verdict)
    if written.target.task == "unanswerable":
        only = only or first  # no answer at all may follow
    return {
        name: "yes" if why is None else "no" for name, why in (("if", first), ("only_if", only))
    }


def finds_answer(verdict: ContextVerdict) -> bool:
    """Does the judge find that the context answers the question, whatever the answer?"""
    return verdict.holds or not says_nothing(verdict.answer)


def _against_if(written: WrittenContext, verdict: ContextVerdict) -> Why | None:
    target = written.target
    if target.task == "unanswerable":
        if verdict.holds:
            return "old_answer_supported", f"the judge quotes {verdict.quote!r}"[:400]
        if not says_nothing(verdict.answer):
            return _finds(target, verdict.answer, "in its own words")
        return None
    if not verdict.holds or says_nothing(_option_text(target, verdict.answer)):
        return "not_supported", f"the judge answers {verdict.answer!r}"
    if not quoted(verdict.quote, written.context):
        return "quote_not_found", f"it quotes {verdict.quote!r}"[:400]
    return None


def _against_only_if(written: WrittenContext, verdict: ContextVerdict) -> Why | None:
    target = written.target
    open_ = target.task == "unanswerable"
    for other in verdict.others:
        same = not open_ and same_text(other.answer, target.answer)
        if not same and not says_nothing(other.answer):
            return _finds(target, other.answer, f"quoting {other.quote!r}"[:400])
    own = _option_text(target, verdict.answer)
    if not open_ and alike(own, [target.answer]) is None and _is_wrong(target, own):
        return _finds(target, own, "in its own words")
    return None


def _finds(target: Target, answer: str, how: str) -> Why:
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
