"""Step 2: candidates classified and rated by a judge model; what is no good is removed (A.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import msgspec

from trueground.benchmarks.base import Value
from trueground.builders.asking.ask import Ask
from trueground.builders.base import CallEstimate, Material, Stage
from trueground.builders.grounding.prompting import (
    PACKAGE,
    answer_of,
    titled,
    tokens_of_contexts,
)
from trueground.builders.grounding.questions.proposals import QuestionCandidate
from trueground.builders.grounding.settings import settle
from trueground.builders.rejected import Rejected
from trueground.models.base import Message
from trueground.models.marks import block, blocks, mark_for
from trueground.models.prompts import Prompt
from trueground.records.problems import shorten

REASONS = {
    "needs_other_facts": "the answer needs facts that stand in none of the documents",
    "wrong_answer": "the judge holds the answer for wrong or incomplete",
    "conjunction": "the question puts several together that have nothing to do with one another",
    "class_differs": "writer and judge differ in its class or in the documents that it needs",
    "low_quality": "the judge gave less than --min-quality",
}
_BEST = 5
_SHOWN = 200


class ClassVerdict(msgspec.Struct, frozen=True):
    """What the judge says of a candidate."""

    reason: str
    contexts: list[int]
    answer_right: bool
    needs_other_facts: bool
    conjunction: bool
    form: Literal["definite", "free-form"]
    quality: int


class Classified(msgspec.Struct, frozen=True):
    """A candidate whose class writer and judge agree on, and its quality (1 to 5)."""

    id: str
    candidate: QuestionCandidate
    quality: int
    reason: str


def classify_stage(
    material: Material, options: Mapping[str, Value]
) -> Stage[QuestionCandidate, Classified]:
    """Candidates → those that the judge lets through, rated. One call of the judge for each.

    The judge is not told what the writer says of class and documents. UsageError, InputError: an
    option or a prompt of the user's that cannot be meant.
    """
    choosing = settle(options)
    prompt = material.prompt(PACKAGE, "classify-1", ("contexts", "question", "answer"))

    async def work(found: QuestionCandidate, ask: Ask) -> list[Classified]:
        said = await ask.object(
            "judge",
            _messages(prompt, found),
            ClassVerdict,
            check=_objection(len(found.set.contexts)),
        )
        try:
            _judge(found, said, choosing.min_quality)
        except Rejected as rejected:
            rejected.content = {"question": found.question, "answer": found.answer}
            raise
        return [Classified(found.id, found, said.quality, said.reason)]

    def read(tokens: float) -> float:
        return tokens_of_contexts(tokens, choosing.context_words)

    return Stage(
        "classify",
        "Let a judge classify and rate the pairs, and remove those of low quality",
        QuestionCandidate,
        Classified,
        work,
        REASONS,
        {"min_quality": choosing.min_quality},
        (prompt.file,),
        ("judge",),
        [CallEstimate("judge", read, 120.0, 1, prompt)],
    )


def _messages(prompt: Prompt, found: QuestionCandidate) -> tuple[Message, ...]:
    texts = titled(found.set.contexts)
    answer = answer_of(found.answer, found.answers)
    mark = mark_for(texts, (found.question, answer))
    places = {
        "contexts": blocks("DOCUMENT", texts, mark),
        "question": block("QUESTION", found.question, mark),
        "answer": block("ANSWER", answer, mark),
    }
    return prompt.fill(places)


def _objection(contexts: int) -> Callable[[ClassVerdict], str | None]:
    def check(said: ClassVerdict) -> str | None:
        if not set(said.contexts) <= set(range(1, contexts + 1)):
            return f'"contexts" is {said.contexts}; the documents have the numbers 1 to {contexts}'
        if not 1 <= said.quality <= _BEST:
            return f'"quality" is {said.quality}; expected 1 to {_BEST}'
        return None

    return check


def _judge(found: QuestionCandidate, said: ClassVerdict, least: int) -> None:
    """Raises Rejected where the pair is not to be kept."""
    why = shorten(said.reason, _SHOWN)
    needed = tuple(sorted(set(said.contexts)))
    if said.needs_other_facts or not needed:
        raise Rejected("needs_other_facts", why)
    if not said.answer_right:
        raise Rejected("wrong_answer", why)
    if said.conjunction:
        raise Rejected("conjunction", why)
    if said.form != found.form or needed != found.needed:
        raise Rejected(
            "class_differs",
            f"the writer says {found.form}, documents {list(found.needed)}; the judge {said.form}, "
            f"{list(needed)}: {why}",
        )
    if said.quality < least:
        raise Rejected("low_quality", f"{said.quality}: {why}")
