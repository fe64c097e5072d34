"""The user's own documents: what their text is, and how it is cut into passages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from trueground.retrieval.corpora.documents.base import Document


def read_document(path: Path) -> Document:
    """The text of a document, by its ending. Raises InputError and MissingExtraError."""
    return _reader(path.suffix.lower())(path)


def _reader(ending: str) -> Callable[[Path], Document]:
    if ending == ".txt":
        from trueground.retrieval.corpora.documents.plain import read_plain

        return read_plain
    if ending in (".md", ".markdown"):
        from trueground.retrieval.corpora.documents.markdown import read_markdown

        return read_markdown
    if ending in (".html", ".htm"):
        from trueground.retrieval.corpora.documents.html import read_html

        return read_html
    from trueground.retrieval.corpora.documents.pdf import read_pdf

    return read_pdf


ENDINGS = (".txt", ".md", ".markdown", ".html", ".htm", ".pdf")
