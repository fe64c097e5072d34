"""Does a response answer the question as a reference does? A language model says yes or no.

Source: Adlakha et al. 2023, section 4.1 (GPT-4-Eval), with a prompt in our own words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from trueground.judges.comparing.language_model import LanguageModelComparer, read_yes
from trueground.models.base import Reply
from trueground.types import Comparison, ComparisonRequest, Status

VALUE = "correct"


class LLMCorrectness(LanguageModelComparer):
    """`llm-correctness`: 1 if the response says all that some reference says, and nothing against.

    One call for each reference, the next one only while the answer is no. One that failed is no
    answer: without any yes the item then has the status of the first that failed.
    """

    name = "llm-correctness"
    values = (VALUE,)
    file = "correctness-1"
    places = ("response", "reference")

    def compare(self, requests: Sequence[ComparisonRequest]) -> list[Comparison]:
        """One comparison for each request; UnreachableError where the model is not reached."""
        cases = [_Case.of(request) for request in requests]
        while open_ := [case for case in cases if case.waiting]:
            calls = [self._call(case.request, case.waiting[:1]) for case in open_]
            for case, reply in zip(open_, self._asker.ask(calls), strict=True):
                case.hear(reply)
        return [case.comparison() for case in cases]


@dataclass
class _Case:
    """One request on its way: the references that are yet to be shown, and what was heard."""

    request: ComparisonRequest
    waiting: list[str]
    asked: int = 0
    yes: str | None = None
    failed: list[Comparison] = field(default_factory=list)

    @classmethod
    def of(cls, request: ComparisonRequest) -> _Case:
        return cls(request, [text for text in dict.fromkeys(request.texts) if text.strip()])

    def hear(self, reply: Reply) -> None:
        reference = self.waiting.pop(0)
        self.asked += 1
        prior_turns = read_yes(reply, VALUE)
        if prior_turns.status is not Status.SCORED:
            self.failed.append(prior_turns)
        elif prior_turns.values[VALUE]:
            self.yes = reference
            self.waiting.clear()

    def comparison(self) -> Comparison:
        if self.yes is not None:
            return Comparison({VALUE: 1.0}, detail={"reference": self.yes})
        if self.failed:
            return self.failed[0]
        if not self.asked:
            return Comparison(status=Status.NOT_APPLICABLE, reason="the references are blank")
        return Comparison({VALUE: 0.0})
