"""The judge of facts (--fact-judge): does a context hold a fact?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trueground.builders.base import CallEstimate
from trueground.builders.grounding.together import Together
from trueground.builders.rejected import CALL_FAILED, Rejected
from trueground.judges import get_judge
from trueground.judges.base import ask
from trueground.types import JudgeRequest, Status, Verdict

FACT_JUDGE = "fact-judge"
# Why an item falls in every stage that asks the judge of facts.
REASONS = {
    "fact_not_in_context": "the judge of facts finds a gold fact in no context",
    "no_verdict": "the judge of facts gave no verdict that can be read",
}
_FACTS = 4.0  # gold ones of a question; most have fewer


class FactJudge:
    """A judge of the judges room, asked by many tasks at once. Raises UsageError."""

    def __init__(self, written: str, *, cache: bool = True) -> None:
        self.judge = get_judge(written, cache=cache)
        self.signature = self.judge.signature
        self._together = Together(self._judged)

    async def check_supported(self, facts: Sequence[str], contexts: Sequence[str]) -> None:
        """See that each fact stands in one of the contexts.

        Raises Rejected with one of REASONS; `call_failed` where the judge could not be asked.
        """
        requests = [JudgeRequest(fact, tuple(contexts)) for fact in facts]
        verdicts = await self._together.ask(requests)
        for fact, verdict in zip(facts, verdicts, strict=True):
            if verdict.supported is None:
                passing = verdict.status is Status.ERROR
                said = "; ".join(verdict.reasons) or f"the verdict is {verdict.status}"
                raise Rejected(CALL_FAILED if passing else "no_verdict", said, transient=passing)
            if not verdict.supported:
                raise Rejected("fact_not_in_context", fact)

    def calls(self, contexts: Callable[[float], float]) -> CallEstimate:
        """What it asks, if it has a model to ask; `contexts` gives their tokens."""
        return CallEstimate(FACT_JUDGE, lambda tokens: contexts(tokens) + 250, 10, _FACTS)

    def close(self) -> None:
        """Close the judge's model, where it has one."""
        close = getattr(self.judge, "close", None)
        if close is not None:
            close()

    def _judged(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        return ask(self.judge, requests)
