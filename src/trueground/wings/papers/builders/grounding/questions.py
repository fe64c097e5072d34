"""Step 2: questions about document sets, and the best of each class (Truly-Ground, A.2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from trueground.judges import unit_at
from trueground.records import shorten
from trueground.text import Normalizer
from trueground.wings.papers.builders.base import BatchStage, LLMStage, Rejected, mark_fields
from trueground.wings.papers.builders.checks import (
    check_numbers,
    contains_phrase,
    contains_quote,
    other_language,
    require_languages,
    same_text,
)
from trueground.wings.papers.builders.grounding import GroundingBuildOptions
from trueground.wings.papers.builders.grounding.items import (
    PACKAGE,
    Context,
    Documents,
    DocumentSet,
    Form,
    GroundedPair,
    format_answer,
    titled,
    tokens_of_contexts,
)
from trueground.wings.papers.builders.settings import Material

# --- candidates

_SHORTEST = 10  # characters of a quotation
_THING = r"(?:document|passage|text|context|article|excerpt|paragraph|source)s?"
_WHICH = r"(?:this|these|given|provided|above|following|first|second|both|two|aforementioned)"
_SAY = (
    r"(?:say|state|mention|describe|tell|claim|report|list|name|give|explain|discuss|suggest|indicate"
    r"|imply|provide|present|refer|note|portray|depict|define|identify|attribute|compare|include)"
)
_SAYS = (
    r"(?:(?:do|does|did)\b|says?|said|states?|stated|mentions?|mentioned|describes?|described|tells?"
    r"|claims?|reports?|lists?|names?|gives?|explains?|discuss(?:es|ed)?|suggests?|indicates?)\b"
    r"(?! (?:to|by|as)\b)"  # "the source said to be in Burundi"
)
# What is "of" something, a law's article, a source code is a thing of its own, and no text given.
_OTHERS = r"(?! (?:of|for|code|material|message)s?\b)"
_NUMBERED = r"(?<!article)(?<!articles)(?<!paragraph)(?<!paragraphs)"
_NO_ARTICLE = rf"(?:(?! \d| [ivx]+\b)|{_NUMBERED})"
_OF_THE_TEXT = re.compile(
    rf"\b(?:according to (?:the )?(?:{_WHICH} )?{_THING}\b{_OTHERS}{_NO_ARTICLE}"
    rf"|(?:paragraph|sentence|section|part|line) \w+ of the {_THING}\b{_OTHERS}"
    rf"|(?:in|from|by|of|on|per) (?:the )?{_WHICH} {_THING}\b{_OTHERS}"
    rf"|(?:mentioned|described|stated|given|provided|listed|discussed|found) in (?:the )?{_THING}\b"
    rf"{_OTHERS}{_NO_ARTICLE}"
    rf"|(?:the|this|these|both) (?:{_WHICH} )?{_THING} {_SAYS}"
    rf"|(?:do|does|did) (?:(?:the )?{_WHICH} {_THING}\b{_OTHERS}|the {_THING} {_SAY}\b)"
    rf"|{_THING}{_NUMBERED} (?P<number>\d+|(?-i:[IVX]+|[AB])|one|two)\b{_OTHERS})",
    re.IGNORECASE,
)
_SEVERAL = (
    "- Where the documents allow it, some questions should need both of them: the answer can only "
    "be given by putting together what stands in the one and in the other. Never put two questions "
    "side by side that have nothing to do with one another.\n"
)


class Quoted(msgspec.Struct, frozen=True):
    """What an answer rests on: the document's number in its set, from 1, and words of it."""

    context: int
    quote: str


class QuestionProposal(msgspec.Struct, frozen=True):
    """A pair as the model writes it; `answers` are the forms of a definite answer."""

    question: str
    answer: str
    answers: list[str]
    evidence: list[Quoted]


class Proposals(msgspec.Struct, frozen=True):
    """The whole reply."""

    pairs: list[QuestionProposal]


class QuestionCandidate(msgspec.Struct, frozen=True):
    """A pair whose every field was checked. `contexts` are all of its set's documents.

    Class by what its writer says: the documents of the evidence, and whether there are `answers`.
    """

    id: str
    set: DocumentSet
    question: str
    answer: str
    answers: tuple[str, ...]
    evidence: tuple[Quoted, ...]

    @property
    def needed(self) -> tuple[int, ...]:
        """The numbers of the documents that the answer needs, from 1, ascending."""
        return tuple(sorted(one.context for one in self.evidence))

    @property
    def documents(self) -> Documents:
        """Factor 2: does it need one document, or several?"""
        return "single" if len(self.evidence) == 1 else "multi"

    @property
    def form(self) -> Form:
        """Factor 3: is its answer definite, or free-form?"""
        return "definite" if self.answers else "free-form"


def candidates_stage(
    material: Material, options: GroundingBuildOptions
) -> LLMStage[DocumentSet, QuestionCandidate]:
    """Document sets → candidates that stand up to the checks. One call of the writer for each set.

    UsageError, InputError: a prompt of the user's that cannot be meant. MissingExtraError:
    languages cannot be told apart.
    """
    require_languages()  # before anything is paid
    count = options.candidates

    def fields(item: DocumentSet) -> dict[str, str]:
        several = len(item.contexts) > 1
        return mark_fields({"contexts": titled(item.contexts)}, titles={"contexts": "DOCUMENT"}) | {
            "count": str(count),
            "documents": "two documents" if several else "a document",
            "several": _SEVERAL if several else "",
        }

    def make(item: DocumentSet, reply: Proposals) -> list[QuestionCandidate | Rejected]:
        if not reply.pairs:
            raise Rejected("no_candidates", "the list of pairs is empty")
        kept: list[QuestionCandidate] = []
        rejected: list[Rejected] = []
        for number, one in enumerate(reply.pairs, start=1):
            id_ = f"{item.id}/q{number:02}"
            try:
                if number > count:
                    raise Rejected("beyond_the_asked", f"{len(reply.pairs)} came")
                kept.append(_check_proposal(id_, one, item, kept))
            except Rejected as why:
                refused = msgspec.to_builtins(one)
                rejected.append(Rejected(why.reason, why.detail, refused, id=id_))
        return [*kept, *rejected]

    return LLMStage(
        name="candidates",
        doc=f"Write {count} question-answer pairs for each document set",
        output_type=QuestionCandidate,
        role="writer",
        prompt=material.prompt(
            PACKAGE, "candidates-1", ("contexts",), ("count", "documents", "several")
        ),
        reply=Proposals,
        fields=fields,
        make=make,
        reasons={
            "no_candidates": "the model wrote no question",
            "beyond_the_asked": "more questions came than were asked for",
            "blank_question": "the question is empty, or has no word",
            "blank_answer": "the answer is empty, or has no word",
            "duplicate_question": "the same question stands before it",
            "talks_of_the_text": "the question or the answer speaks of the text instead of its "
            "subject",
            "other_language": "it is in another language than the documents",
            "no_evidence": "no document is named that the answer needs",
            "unknown_context": "a document is named that is not there, or one twice",
            "span_too_short": "a quotation is too short to show anything",
            "span_not_in_context": "a quotation does not stand in its document",
            "answer_not_in_context": "no form of the definite answer stands in the documents it "
            "needs",
            "answer_without_form": "the answer in words holds no form of the definite answer",
        },
        identity={"count": count},
        tokens_in=lambda tokens: tokens_of_contexts(tokens, options.context_words),
        tokens_out=120.0 * count,
        fan_out=float(count),
    )


def _check_proposal(
    id_: str, found: QuestionProposal, of: DocumentSet, before: Sequence[QuestionCandidate]
) -> QuestionCandidate:
    """The proposal as a candidate. `before` are those of the same set. Raises Rejected."""
    for reason, text in (("blank_question", found.question), ("blank_answer", found.answer)):
        if not re.search(r"\w", text):
            raise Rejected(reason, f'"{shorten(text)}"')
    for one in before:
        if same_text(one.question, found.question):
            raise Rejected("duplicate_question", f'as {one.id}: "{shorten(found.question)}"')
    for text in (found.question, found.answer):
        for match in _OF_THE_TEXT.finditer(text):
            measured = match["number"] and unit_at(text, match.end())  # "a passage 2 km long"
            if not measured:
                raise Rejected("talks_of_the_text", f'"{match[0]}" in "{shorten(text, 120)}"')
    read = " ".join(one.text for one in of.contexts)
    spoken = other_language(f"{found.question} {found.answer}", read)
    if spoken is not None:
        raise Rejected("other_language", f'{spoken}: "{shorten(found.question)}"')
    needed = _check_evidence(found.evidence, of.contexts)
    answers = _check_answers(found, needed)
    return QuestionCandidate(id_, of, found.question, found.answer, answers, tuple(found.evidence))


def _check_evidence(evidence: Sequence[Quoted], contexts: Sequence[Context]) -> list[Context]:
    """The documents that are needed. Raises Rejected."""
    if not evidence:
        raise Rejected("no_evidence", "the evidence is an empty list")
    numbers = [one.context for one in evidence]
    if not set(numbers) <= set(range(1, len(contexts) + 1)) or len(set(numbers)) < len(numbers):
        raise Rejected("unknown_context", f"found {numbers} of {len(contexts)}")
    for one in evidence:
        if len("".join(one.quote.split())) < _SHORTEST:
            raise Rejected("span_too_short", f'"{shorten(one.quote)}"')
        if not contains_quote(one.quote, contexts[one.context - 1].text):
            raise Rejected("span_not_in_context", f'{one.context}: "{shorten(one.quote, 120)}"')
    return [contexts[number - 1] for number in numbers]


def _check_answers(found: QuestionProposal, needed: Sequence[Context]) -> tuple[str, ...]:
    """The forms of a definite answer that stand in the documents; () for a free-form answer."""
    forms = list(dict.fromkeys(one.strip() for one in found.answers if one.strip()))
    if not forms:
        return ()
    standing = [form for form in forms if any(contains_phrase(one.text, form) for one in needed)]
    if not standing:
        shown = ", ".join(f'"{shorten(form)}"' for form in forms[:3])
        raise Rejected("answer_not_in_context", shown)
    if not any(contains_phrase(found.answer, form) for form in standing):
        raise Rejected("answer_without_form", f'"{standing[0]}" in "{shorten(found.answer, 120)}"')
    return tuple(standing)


# --- classes and the best of each

_BEST = 5


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
    material: Material, options: GroundingBuildOptions
) -> LLMStage[QuestionCandidate, Classified]:
    """Candidates → those that the judge lets through, rated. One call of the judge for each.

    The judge is not told what the writer says of class and documents. UsageError, InputError: a
    prompt of the user's that cannot be meant.
    """

    def fields(item: QuestionCandidate) -> dict[str, str]:
        own = {"question": item.question, "answer": format_answer(item.answer, item.answers)}
        texts = {"contexts": titled(item.set.contexts)}
        return mark_fields(texts, own, titles={"contexts": "DOCUMENT"})

    def check(item: QuestionCandidate, reply: ClassVerdict) -> str | None:
        wrong = check_numbers("contexts", reply.contexts, len(item.set.contexts))
        return wrong or check_numbers("quality", [reply.quality], _BEST)

    def make(item: QuestionCandidate, reply: ClassVerdict) -> list[Classified]:
        why, needed = shorten(reply.reason, 200), tuple(sorted(set(reply.contexts)))
        if reply.needs_other_facts or not needed:
            raise Rejected("needs_other_facts", why)
        if not reply.answer_right:
            raise Rejected("wrong_answer", why)
        if reply.conjunction:
            raise Rejected("conjunction", why)
        if reply.form != item.form or needed != item.needed:
            writer = f"the writer says {item.form}, documents {list(item.needed)}"
            judge = f"the judge {reply.form}, {list(needed)}"
            raise Rejected("class_differs", f"{writer}; {judge}: {why}")
        if reply.quality < options.min_quality:
            raise Rejected("low_quality", f"{reply.quality}: {why}")
        return [Classified(item.id, item, reply.quality, reply.reason)]

    return LLMStage(
        name="classify",
        doc="Let a judge classify and rate the pairs, and remove those of low quality",
        output_type=Classified,
        role="judge",
        prompt=material.prompt(PACKAGE, "classify-1", ("contexts", "question", "answer")),
        reply=ClassVerdict,
        fields=fields,
        check=check,
        make=make,
        show=lambda item, _: {"question": item.question, "answer": item.answer},
        reasons={
            "needs_other_facts": "the answer needs facts that stand in none of the documents",
            "wrong_answer": "the judge holds the answer for wrong or incomplete",
            "conjunction": "the question puts several together that have nothing to do with one "
            "another",
            "class_differs": "writer and judge differ in its class or in the documents that it "
            "needs",
            "low_quality": "the judge gave less than --min-quality",
        },
        identity={"min_quality": options.min_quality},
        tokens_in=lambda tokens: tokens_of_contexts(tokens, options.context_words),
        tokens_out=120.0,
    )


def best_stage(options: GroundingBuildOptions) -> BatchStage[Classified, GroundedPair]:
    """Classified candidates → pairs: for each set and class the one of the highest quality.

    Of equals the first counts; a question that an earlier set took is passed over.
    """
    return BatchStage(
        name="best",
        doc="Keep the best pair of each class: one document or several, definite or free-form",
        output_type=GroundedPair,
        work=_choose_best,
        reasons={
            "not_the_best": "another question of the same class and document set is as good or "
            "better",
            "asked_elsewhere": "another document set has the same question",
        },
        fan_out=min(1.0, 4 / options.candidates),  # a document set has four classes
    )


def _choose_best(found: Sequence[Classified]) -> list[GroundedPair | Rejected]:
    classes: dict[tuple[str, str, str], list[Classified]] = {}
    for one in sorted(found, key=lambda one: one.id):
        of = one.candidate
        classes.setdefault((of.set.id, of.documents, of.form), []).append(one)
    kept: list[GroundedPair] = []
    rejected: list[Rejected] = []
    asked: dict[str, str] = {}
    plain = Normalizer.named("unicode-1", "").rule
    for rivals in classes.values():
        best: str | None = None
        for one in sorted(rivals, key=lambda one: (-one.quality, one.id)):
            of, question = one.candidate, plain(one.candidate.question)
            if best is not None:
                detail = f"{one.quality}; {best} was chosen"
                rejected.append(Rejected("not_the_best", detail, id=one.id))
            elif question in asked:
                rejected.append(Rejected("asked_elsewhere", f"as {asked[question]}", id=one.id))
            else:
                best = asked[question] = of.id
                kept.append(
                    GroundedPair(
                        id=of.id,
                        question=of.question,
                        answer=of.answer,
                        answers=of.answers,
                        contexts=tuple(of.set.contexts[number - 1] for number in of.needed),
                        popularity=of.set.popularity,
                        documents=of.documents,
                        form=of.form,
                        set=of.set.id,
                    )
                )
    return [*kept, *rejected]
