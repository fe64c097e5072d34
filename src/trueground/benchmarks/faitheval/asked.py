"""What is asked of one item, and the key that it is scored by.

Definitions: Ming et al. 2024, section 3 (tasks), section 5 (single documents), appendix B (filter).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from trueground.benchmarks.faitheval.documents import single_document, split_documents
from trueground.benchmarks.faitheval.originals import OriginalQuestion
from trueground.benchmarks.faitheval.settings import FaithEvalSettings
from trueground.benchmarks.faitheval.source import FaithEvalRow
from trueground.text.normalize import FAITHEVAL, contains_words
from trueground.types import Passage, Record


@dataclass(frozen=True)
class AskedContext:
    """The record without its response, and the context as the model reads it."""

    record: Record
    context: str


def make_asked(
    settings: FaithEvalSettings, item: FaithEvalRow, original: OriginalQuestion | None
) -> AskedContext | str:
    """What is asked, or why nothing can be. `original` is needed where the settings name a file."""
    if settings.original and original is None:
        return "have no original"
    record = Record(
        id=item.id,
        response="",
        question=item.question,
        meta={"dataset": item.dataset, "task": settings.task},
    )
    if settings.task == "original":
        assert original is not None, "a task without a file of originals is refused"
        return _original(record, original)
    if settings.single:
        return _single(record, item, settings.documents, original)
    if settings.task == "inconsistent":
        record.contexts = [Passage(text) for text in split_documents(item.context)]
        return AskedContext(record, item.context)
    record.contexts = [Passage(item.context)]
    record.answerable = settings.task == "counterfactual"
    if settings.choices:
        _give_choices(record, item)
    return AskedContext(record, item.context)


def _original(record: Record, original: OriginalQuestion) -> AskedContext:
    record.question = original.question
    if original.choices:
        _give_choices(record, original)
        return AskedContext(record, "")
    record.references = list(original.answers)
    record.answerable = True
    record.contexts = [Passage(original.context)]
    return AskedContext(record, original.context)


def _single(
    record: Record, item: FaithEvalRow, which: str, original: OriginalQuestion | None
) -> AskedContext | str:
    document = single_document(item, which, original)
    if isinstance(document, str):
        return document
    record.references = list(document.answers)
    record.answerable = True
    record.contexts = [Passage(document.text)]
    return AskedContext(record, document.text)


def _give_choices(record: Record, source: FaithEvalRow | OriginalQuestion) -> None:
    record.choices = list(source.choices)
    record.references = [_right(source)]


def _right(source: FaithEvalRow | OriginalQuestion) -> str:
    """The text of the right option."""
    return next(choice.text for choice in source.choices if choice.label == source.key)


def _has_phrase(item: FaithEvalRow) -> bool:
    """Appendix B: the answer phrase stands in the context."""
    return contains_words(FAITHEVAL.rule(item.context), FAITHEVAL.rule(_right(item)))


def _has_words(item: FaithEvalRow) -> bool:
    """Section 3.2: all words of the answer stand in the context."""
    words = set(FAITHEVAL.rule(_right(item)).split())
    return bool(words) and words <= set(FAITHEVAL.rule(item.context).split())


FILTERS: Mapping[str, Callable[[FaithEvalRow], bool]] = {"phrase": _has_phrase, "words": _has_words}
