"""A judge looks at both questions: do they fit, and which knowledge do they need (C.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from trueground.builders.ask import Ask
from trueground.builders.base import CallEstimate, Stage
from trueground.builders.kalma.asking import check_numbers
from trueground.builders.kalma.items import (
    VERSIONS,
    JudgedQuestion,
    QuestionRequest,
    QuestionVerdict,
    grown,
)
from trueground.builders.kalma.pool import for_people
from trueground.builders.rejected import Rejected
from trueground.models.base import Message
from trueground.models.marks import block, mark_for
from trueground.models.prompts import Prompt

PLACES = ("question", "paragraph", "knowledge")
REASONS = {"not_authentic": "the judge finds that a question contradicts the paragraph"}


class Opinion(msgspec.Struct, frozen=True):
    """What the judge replies: `needed` are the numbers of the knowledge that an answer needs."""

    reason: str
    authentic: Literal["yes", "no"]
    needed: list[int]


def make_judging(prompt: Prompt, required: bool) -> Stage[QuestionRequest, JudgedQuestion]:
    """With `required`, items fall where a question is not authentic; else verdicts are noted."""

    async def work(item: QuestionRequest, ask: Ask) -> Sequence[JudgedQuestion]:
        verdicts = {}
        for version in VERSIONS:
            verdict = await _verdict(item, version, ask)
            if verdict is not None:
                verdicts[version] = verdict
                if required and not verdict.authentic:
                    question = item.question(version)
                    raise Rejected(
                        "not_authentic", f"{version}: {verdict.reason}", content=question
                    )
        return [grown(item, JudgedQuestion, verdicts=verdicts)]

    async def _verdict(item: QuestionRequest, version: str, ask: Ask) -> QuestionVerdict | None:
        count = len(item.facts)
        try:
            made = await ask.object(
                "judge",
                _messages(prompt, item, item.question(version)),
                Opinion,
                check=lambda opinion: check_numbers("needed", opinion.needed, count),
            )
        except Rejected as rejected:
            if required or rejected.transient:
                raise
            return None  # noted only: what cannot be read is no verdict
        return QuestionVerdict(
            made.authentic == "yes", tuple(sorted(set(made.needed))), made.reason
        )

    return Stage(
        "judge",
        "Judge the questions",
        QuestionRequest,
        JudgedQuestion,
        work,
        REASONS,
        {"required": required},
        [prompt.file],
        ("judge",),
        [CallEstimate("judge", lambda tokens: 2 * tokens, 120, 2, prompt)],
    )


def _messages(prompt: Prompt, item: QuestionRequest, question: str) -> tuple[Message, ...]:
    facts = "\n".join(f"[{n}] {for_people(fact, item)}" for n, fact in enumerate(item.facts, 1))
    mark = mark_for([item.bare, facts], [question])
    return prompt.fill(
        {
            "question": block("QUESTION", question, mark),
            "paragraph": block("PARAGRAPH", item.bare, mark),
            "knowledge": block("KNOWLEDGE", facts, mark),
        }
    )


def found_wanting(items: Sequence[QuestionRequest]) -> str | None:
    """How many of the questions that are kept the judge finds wrong, in words; None for none."""
    said = [
        one for item in items if isinstance(item, JudgedQuestion) for one in item.verdicts.values()
    ]
    wrong = sum(not one.authentic for one in said)
    if not wrong:
        return None
    were = "question was" if wrong == 1 else "questions were"
    return f"{wrong:,} of {len(said):,} {were} found not authentic by the judge and kept."
