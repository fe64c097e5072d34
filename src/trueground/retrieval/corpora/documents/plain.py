"""Plain text files."""

from __future__ import annotations

from pathlib import Path

from trueground.retrieval.corpora.documents.base import Document, Section, paragraphs, read_text


def read_plain(path: Path) -> Document:
    """A text file as one section without a title. Raises InputError."""
    return Document(sections=[Section(paragraphs=paragraphs(read_text(path)))])
