"""Names found by a spaCy pipeline with named-entity recognition (KaLMA, section 3.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import regex

from trueground.errors import MissingExtraError, UsageError
from trueground.graph.linking.base import Mention
from trueground.graph.linking.typing import LABEL_TYPES

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Span

_BATCH = 256  # questions that go through the pipeline together
_EDGES = regex.compile(r"^[\s\"“”„«»\\]+|(?:['’]s?|[\s\"“”„«»\\])+$", regex.IGNORECASE)
_ARTICLE = regex.compile(r"^the\s+(?=\S)", regex.IGNORECASE)


class SpacyRecognizer:
    """A recognizer that asks a pipeline from a folder or an installed package.

    `labels` maps its labels to classes that an entity must have; of other labels it may be
    anything. Quotation marks and the possessive `'s` are cut off; a name is looked for with and
    without "the". Raises UsageError: no such pipeline, or none that finds names. MissingExtraError.
    """

    def __init__(self, model: str, labels: Mapping[str, tuple[str, ...]] = LABEL_TYPES) -> None:
        self.name = f"spacy:{model}"
        self._labels = labels
        self._pipeline = _loaded(model)

    def mentions(self, questions: Sequence[str]) -> list[list[Mention]]:
        """For each question (in NFC) its names, in order."""
        docs = self._pipeline.pipe(questions, batch_size=_BATCH)
        return [[m for span in doc.ents if (m := self._mention(span))] for doc in docs]

    def _mention(self, span: Span) -> Mention | None:
        text = span.text
        opening = _EDGES.match(text)
        start = opening.end() if opening else 0
        closing = _EDGES.search(text, start)
        text = text[start : closing.start() if closing else None]
        if not any(c.isalpha() for c in text):
            return None
        names = tuple(dict.fromkeys((text, _ARTICLE.sub("", text))))
        begin = span.start_char + start
        return Mention(text, begin, begin + len(text), names, self._labels.get(span.label_, ()))


def _loaded(model: str) -> Language:
    try:
        import spacy
    except ImportError as error:
        raise MissingExtraError("the recognizer spacy", "ner") from error
    try:
        pipeline = spacy.load(model)
    except Exception as error:  # its loader lets through whatever the files' readers raise
        raise UsageError(_unreadable(model, error)) from error
    if not any("doc.ents" in pipeline.get_pipe_meta(part).assigns for part in pipeline.pipe_names):
        parts = ", ".join(pipeline.pipe_names) or "none"
        raise UsageError(
            f"the spaCy pipeline {model} finds no names: its components are {parts}; expected one "
            "with ner or an entity ruler. Name another pipeline"
        )
    return pipeline


def _unreadable(model: str, error: Exception) -> str:
    reason = " ".join(str(error).split())[:200] or type(error).__name__
    if Path(model).exists():
        return (
            f"{model} is no spaCy pipeline: {reason}. Name a folder that spaCy wrote (it holds "
            "config.cfg and meta.json)"
        )
    return (
        f"no spaCy pipeline {model!r}: neither a folder nor an installed package ({reason}). "
        f"Install it with: python -m spacy download {model}"
    )
