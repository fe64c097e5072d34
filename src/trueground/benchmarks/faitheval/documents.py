"""The two documents of an inconsistent context, and which of them is the new one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from trueground.benchmarks.faitheval.originals import OriginalQuestion
from trueground.benchmarks.faitheval.source import FaithEvalRow
from trueground.text.normalize import FAITHEVAL, contains_words

_HEADING = re.compile(r"^[ \t]*\[?document(?:[ \t]*#?\d+)?\]?[ \t]*:", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True)
class AnsweredDocument:
    """One document with its own answers."""

    text: str
    answers: tuple[str, ...]


def split_documents(context: str) -> list[str]:
    """The two documents, each headed `Document:` or `Document 1:`; else the context as one."""
    before, *parts = _HEADING.split(context)
    documents = [part.strip() for part in parts]
    return documents if len(documents) == 2 and all(documents) and not before.strip() else [context]


def single_document(
    item: FaithEvalRow, which: str, original: OriginalQuestion | None
) -> AnsweredDocument | str:
    """The `original` or the `new` document, or why it cannot be told.

    The file lists the original answer first, then the new one. The original document is the one
    that is the original context, where that is given; else the one in which the original answer
    stands and the new one does not.
    """
    documents = split_documents(item.context)
    if len(documents) != 2:
        return "have no two documents, each headed by a line `Document:`"
    old, new = item.answers[:1], item.answers[1:]
    if original is not None:
        old = original.answers
        new = tuple(a for a in item.answers if not _among(a, old))
        if len(new) == len(item.answers):
            return "name no answer of their original"
    if not new:
        return "name no new answer beside the original one"
    first = _likeness(documents, original) if original else _evidence(documents, old, new)
    if not first:
        return "have two documents that cannot be told apart"
    at = int((first > 0) != (which == "original"))
    return AnsweredDocument(documents[at], old if which == "original" else new)


def _among(answer: str, answers: tuple[str, ...]) -> bool:
    return FAITHEVAL.rule(answer) in {FAITHEVAL.rule(other) for other in answers}


def _likeness(documents: list[str], original: OriginalQuestion) -> float:
    """How much more the first document is like the original context than the second (-100..100)."""
    from rapidfuzz.fuzz import ratio

    context = FAITHEVAL.rule(original.context)
    first, second = (ratio(FAITHEVAL.rule(document), context) for document in documents)
    return first - second


def _evidence(documents: list[str], old: tuple[str, ...], new: tuple[str, ...]) -> float:
    """The same by the answers that stand in the documents (-2..2); 0: not to be told."""

    def original(document: str) -> int:
        text = FAITHEVAL.rule(document)
        has_old, has_new = (
            any(contains_words(text, FAITHEVAL.rule(answer)) for answer in answers)
            for answers in (old, new)
        )
        return has_old - has_new

    first, second = map(original, documents)
    return first - second
