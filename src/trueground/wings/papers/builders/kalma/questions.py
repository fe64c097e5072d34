"""Two questions whose answer is the paragraph, a general and a specific one, and what a judge says.

Li et al. 2024, A.3 and C.1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from trueground.models import Prompt
from trueground.records import shorten
from trueground.wings.graphs import name_key
from trueground.wings.papers.builders.base import (
    BatchStage,
    CallEstimate,
    Rejected,
    Stage,
    mark_fields,
    rejected_content,
)
from trueground.wings.papers.builders.checks import (
    FORM_REASONS,
    check_numbers,
    contains_phrase,
    count_other_words,
    same_text,
    share_kept,
)
from trueground.wings.papers.builders.client import ModelClient
from trueground.wings.papers.builders.kalma import KalmaBuildOptions
from trueground.wings.papers.builders.kalma.items import (
    VERSIONS,
    Draft,
    QuestionRequest,
    QuestionVerdict,
    grown,
)
from trueground.wings.papers.builders.kalma.knowledge import format_fact, name_of
from trueground.wings.papers.builders.kalma.paragraphs import (
    RULES,
    bare,
    check_form,
    check_language,
)
from trueground.wings.papers.kalma.source import question_key

_LONGEST = 1_000  # characters
_ENDS = "?？؟"
_WORD = re.compile(r"\w+")
_SHORTEST = 3  # letters of a name's word by which it is known
_LEAST_WORDS = 3  # besides the names; no published question has fewer than 7
_MOST_TOLD, _LEAST_TOLD = 0.5, 3  # share and number of the gold values
_WHOLE = 0.9  # share of the paragraph's words: with so many it is told whole


class OneQuestion(msgspec.Struct, frozen=True):
    """A question."""

    question: str


def questions_stage(
    general: Prompt, specific: Prompt, options: KalmaBuildOptions
) -> Stage[Draft, QuestionRequest]:
    """Each question is asked for by itself, from the paragraph without its citations."""
    prompts = {"general": general, "specific": specific}
    least, language = options.least_rounds, options.language == "check"

    async def work(draft: Draft, client: ModelClient) -> Sequence[QuestionRequest]:
        rounds = len(draft.knowledge)
        if rounds < least:
            raise Rejected("too_few_rounds", f"{rounds} rounds; expected {least} or more")
        text = bare(draft.text, draft.graphs)

        def check(reply: OneQuestion) -> None:
            with rejected_content(lambda: reply):
                check_form(reply.question, text)
                check_question(reply.question, draft, text)
                check_language(reply.question, text, language)

        found: dict[str, str] = {}
        for version in VERSIONS:
            messages = prompts[version].fill(mark_fields({"paragraph": text}))
            reply = await client.ask("writer", messages, OneQuestion, check=check)
            found[version] = " ".join(reply.question.split())
        if same_text(found["general"], found["specific"]):
            raise Rejected("same_question", shorten(found["general"]), found)
        return [grown(draft, QuestionRequest, bare=text, **found)]

    return Stage(
        name="questions",
        doc="Ask a general and a specific question",
        output_type=QuestionRequest,
        work=work,
        reasons={
            "too_few_rounds": "the two graphs held too little for the rounds that are wanted",
            **FORM_REASONS,
            "not_one_question": "the reply is no question, or several",
            "names_nobody": "the question names neither of the two entities",
            "no_question": "the question has fewer than 3 words besides the names",
            "gives_away": "the question tells the paragraph, or most values that are to be "
            "answered",
            "has_citations": "the question holds citations",
            "same_question": "the general question is the specific one",
            "other_language": "a question is in another language",
        },
        identity={"rules": RULES, "minimum_rounds": least, "language": language},
        prompts=[general.file, specific.file],
        roles=("writer",),
        calls=[CallEstimate("writer", lambda t: t + 40 * options.rounds, 40, 2, general)],
    )


def check_question(question: str, draft: Draft, paragraph: str) -> None:
    """One question about the two that does not answer itself. Rejected."""
    text = question.strip()
    marks = sum(text.count(mark) for mark in _ENDS)
    shown = f'"{shorten(text, 120)}"'
    if marks != 1 or text[-1:] not in _ENDS or len(text) > _LONGEST or "\n" in text:
        raise Rejected("not_one_question", shown)
    if bare(text, draft.graphs) != " ".join(text.split()):
        raise Rejected("has_citations", shown)
    names = [draft.head, draft.tail, *map(name_of, draft.graphs)]
    known = {name_key(name) for name in names}
    words = set(_WORD.findall(name_key(text)))
    parts = {part for name in known for part in name.split() if len(part) >= _SHORTEST}
    if not any(word.startswith(part) for part in parts for word in words) and not any(
        name in name_key(text) for name in known
    ):
        raise Rejected("names_nobody", shown)
    own = {word for name in names for word in count_other_words(name, ())}
    rest = sum(n for word, n in count_other_words(text, ()).items() if word not in own)
    if rest < _LEAST_WORDS:
        raise Rejected("no_question", f"{shown}: {rest} words besides the names")
    if share_kept(paragraph, text) >= _WHOLE:
        raise Rejected("gives_away", f"{shown}: it holds the paragraph")
    values = {name_key(value): value for _, _, value in draft.facts if name_key(value) not in known}
    told = [value for value in values.values() if contains_phrase(text, value)]
    if len(told) >= _LEAST_TOLD and len(told) > _MOST_TOLD * len(values):
        listed = shorten(", ".join(told), 120)
        detail = f"it tells {len(told)} of {len(values)} values: {listed}"
        raise Rejected("gives_away", f"{shown}: {detail}")


def sorting_stage() -> BatchStage[QuestionRequest, QuestionRequest]:
    """Of items that ask the same the first stays: sets are found by their question."""

    def work(items: Sequence[QuestionRequest]) -> list[QuestionRequest | Rejected]:
        before: set[str] = set()
        out: list[QuestionRequest | Rejected] = []
        for item in items:
            both = {version: item.question(version) for version in VERSIONS}
            keys = set(map(question_key, both.values()))
            if keys & before:
                out.append(Rejected("asked_before", shorten(item.specific, 120), both, id=item.id))
            else:
                out.append(item)
                before |= keys
        return out

    reasons = {"asked_before": "another item asks the same question"}
    doc = "Leave out what is asked twice"
    return BatchStage("sort", doc, QuestionRequest, work, reasons)


# --- what a judge says: do the questions fit, and which knowledge do they need?


class Opinion(msgspec.Struct, frozen=True):
    """What the judge replies: `needed` are the numbers of the knowledge that an answer needs."""

    reason: str
    authentic: Literal["yes", "no"]
    needed: list[int]


def judging_stage(prompt: Prompt, required: bool) -> Stage[QuestionRequest, QuestionRequest]:
    """Verdicts are noted; if `required`, a question that is not authentic rejects the item."""

    async def work(item: QuestionRequest, client: ModelClient) -> Sequence[QuestionRequest]:
        facts = "\n".join(
            f"[{n}] {format_fact(fact, item)}" for n, fact in enumerate(item.facts, 1)
        )
        verdicts = {}
        for version in VERSIONS:
            question = item.question(version)
            texts = {"paragraph": item.bare, "knowledge": facts}
            messages = prompt.fill(mark_fields(texts, {"question": question}))
            try:
                reply = await client.ask(
                    "judge",
                    messages,
                    Opinion,
                    check=lambda reply: check_numbers("needed", reply.needed, len(item.facts)),
                )
            except Rejected as rejected:
                if required or rejected.transient:
                    raise
                continue  # noted only: what cannot be read is no verdict
            authentic, needed = reply.authentic == "yes", tuple(sorted(set(reply.needed)))
            verdicts[version] = QuestionVerdict(authentic, needed, reply.reason)
            if required and not authentic:
                raise Rejected("not_authentic", f"{version}: {reply.reason}", question)
        return [msgspec.structs.replace(item, verdicts=verdicts)]

    return Stage(
        name="judge",
        doc="Judge the questions",
        output_type=QuestionRequest,
        work=work,
        reasons={"not_authentic": "the judge finds that a question contradicts the paragraph"},
        identity={"required": required},
        prompts=[prompt.file],
        roles=("judge",),
        calls=[CallEstimate("judge", lambda tokens: 2 * tokens, 120, 2, prompt)],
    )
