"""What a model proposes as question-answer pairs, and what of it stands up to a check."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from trueground.builders.checks import other_language, quoted, same_text, says
from trueground.builders.grounding.items import Context, Documents, DocumentSet, Form
from trueground.builders.rejected import Rejected
from trueground.records.problems import shorten
from trueground.text.numerals import unit_at

REASONS = {
    "no_candidates": "the model wrote no question",
    "beyond_the_asked": "more questions came than were asked for",
    "blank_question": "the question is empty, or has no word",
    "blank_answer": "the answer is empty, or has no word",
    "duplicate_question": "the same question stands before it",
    "talks_of_the_text": "the question or the answer speaks of the text instead of its subject",
    "other_language": "it is in another language than the documents",
    "no_evidence": "no document is named that the answer needs",
    "unknown_context": "a document is named that is not there, or one twice",
    "span_too_short": "a quotation is too short to show anything",
    "span_not_in_context": "a quotation does not stand in its document",
    "answer_not_in_context": "no form of the definite answer stands in the documents it needs",
    "answer_without_form": "the answer in words holds no form of the definite answer",
}
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


def checked(
    id_: str, found: QuestionProposal, of: DocumentSet, before: Sequence[QuestionCandidate]
) -> QuestionCandidate:
    """The proposal as a candidate. `before` are those of the same set. Raises Rejected."""
    _check_words(found, before)
    read = " ".join(one.text for one in of.contexts)
    spoken = other_language(f"{found.question} {found.answer}", read)
    if spoken is not None:
        raise Rejected("other_language", f'{spoken}: "{shorten(found.question)}"')
    needed = _check_evidence(found.evidence, of.contexts)
    answers = _check_answers(found, needed)
    return QuestionCandidate(id_, of, found.question, found.answer, answers, tuple(found.evidence))


def _check_words(found: QuestionProposal, before: Sequence[QuestionCandidate]) -> None:
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


def _check_evidence(evidence: Sequence[Quoted], contexts: Sequence[Context]) -> list[Context]:
    """The documents that are needed."""
    if not evidence:
        raise Rejected("no_evidence", "the evidence is an empty list")
    numbers = [one.context for one in evidence]
    if not set(numbers) <= set(range(1, len(contexts) + 1)) or len(set(numbers)) < len(numbers):
        raise Rejected("unknown_context", f"found {numbers} of {len(contexts)}")
    for one in evidence:
        if len("".join(one.quote.split())) < _SHORTEST:
            raise Rejected("span_too_short", f'"{shorten(one.quote)}"')
        if not quoted(one.quote, contexts[one.context - 1].text):
            raise Rejected("span_not_in_context", f'{one.context}: "{shorten(one.quote, 120)}"')
    return [contexts[number - 1] for number in numbers]


def _check_answers(found: QuestionProposal, needed: Sequence[Context]) -> tuple[str, ...]:
    """The forms of a definite answer that stand in the documents; () for a free-form answer."""
    forms = list(dict.fromkeys(one.strip() for one in found.answers if one.strip()))
    if not forms:
        return ()
    standing = [form for form in forms if any(says(one.text, form) for one in needed)]
    if not standing:
        shown = ", ".join(f'"{shorten(form)}"' for form in forms[:3])
        raise Rejected("answer_not_in_context", shown)
    if not any(says(found.answer, form) for form in standing):
        raise Rejected("answer_without_form", f'"{standing[0]}" in "{shorten(found.answer, 120)}"')
    return tuple(standing)
