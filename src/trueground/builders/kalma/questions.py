"""Two questions whose answer is the paragraph: a general and a specific one (Li et al. 2024)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from trueground.benchmarks.kalma.source import question_key
from trueground.builders.ask import Ask
from trueground.builders.base import BatchStage, CallEstimate, Stage
from trueground.builders.checks import FORM_REASONS as FORM_REASONS
from trueground.builders.checks import same_text
from trueground.builders.kalma.asking import RULES, check_form, check_language, checked
from trueground.builders.kalma.citing import bare
from trueground.builders.kalma.items import VERSIONS, Draft, QuestionRequest, grown
from trueground.builders.kalma.questioning import REASONS as QUESTION_REASONS
from trueground.builders.kalma.questioning import check_question
from trueground.builders.kalma.settings import KalmaBuildSettings
from trueground.builders.rejected import Rejected
from trueground.models.marks import block, mark_for
from trueground.models.prompts import Prompt
from trueground.records.problems import shorten

PLACES = ("paragraph",)
REASONS = {
    "too_few_rounds": "the two graphs held too little for the rounds that are wanted",
    **FORM_REASONS,
    **QUESTION_REASONS,
    "same_question": "the general question is the specific one",
    "other_language": "a question is in another language",
}


class OneQuestion(msgspec.Struct, frozen=True):
    """A question."""

    question: str


def make_questions(
    general: Prompt, specific: Prompt, settings: KalmaBuildSettings
) -> Stage[Draft, QuestionRequest]:
    """Each question is asked for by itself, from the paragraph without its citations."""
    prompts = {"general": general, "specific": specific}

    async def work(draft: Draft, ask: Ask) -> Sequence[QuestionRequest]:
        rounds = len(draft.knowledge)
        if rounds < settings.minimum_rounds:
            wanted = settings.minimum_rounds
            raise Rejected("too_few_rounds", f"{rounds} rounds; expected {wanted} or more")
        text = bare(draft.text, draft.graphs)
        found: dict[str, str] = {}
        for version in VERSIONS:
            mark = mark_for([text])
            messages = prompts[version].fill({"paragraph": block("PARAGRAPH", text, mark)})
            made = await checked(
                ask,
                "writer",
                messages,
                OneQuestion,
                lambda made: _check(made.question, draft, text),
            )
            found[version] = " ".join(made.question.split())
        if same_text(found["general"], found["specific"]):
            raise Rejected("same_question", shorten(found["general"]), content=found)
        return [grown(draft, QuestionRequest, bare=text, **found)]

    def _check(question: str, draft: Draft, text: str) -> None:
        check_form(question, text)
        check_question(question, draft, text)
        check_language(question, text, settings.language)

    return Stage(
        "questions",
        "Ask a general and a specific question",
        Draft,
        QuestionRequest,
        work,
        REASONS,
        {
            "rules": RULES,
            "minimum_rounds": settings.minimum_rounds,
            "language": settings.language,
        },
        [general.file, specific.file],
        ("writer",),
        [CallEstimate("writer", lambda tokens: tokens + 40 * settings.rounds, 40, 2, general)],
    )


def make_sorting() -> BatchStage[QuestionRequest, QuestionRequest]:
    """Of items that ask the same the first stays: sets are found by their question."""

    def work(items: Sequence[QuestionRequest]) -> list[QuestionRequest | Rejected]:
        seen: set[str] = set()
        out: list[QuestionRequest | Rejected] = []
        for item in items:
            keys = {question_key(item.question(version)) for version in VERSIONS}
            if keys & seen:
                both = {version: item.question(version) for version in VERSIONS}
                detail = shorten(item.specific, 120)
                out.append(Rejected("asked_before", detail, both, id=item.id))
            else:
                out.append(item)
                seen |= keys
        return out

    reasons = {"asked_before": "another item asks the same question"}
    return BatchStage(
        "sort", "Leave out what is asked twice", QuestionRequest, QuestionRequest, work, reasons
    )
