"""Read a document: text, Markdown, HTML and PDF files."""

from __future__ import annotations

from pathlib import Path

from trueground.wings.search.html_files import read_html
from trueground.wings.search.markdown_files import read_markdown
from trueground.wings.search.pdf_files import read_pdf
from trueground.wings.search.sections import Document, Section, read_text, split_paragraphs

ENDINGS = (".txt", ".md", ".markdown", ".html", ".htm", ".pdf")


def read_document(path: Path) -> Document:
    """The text of a document, by its ending (see ENDINGS). InputError, MissingExtraError."""
    ending = path.suffix.lower()
    if ending == ".txt":
        return Document(sections=[Section(paragraphs=split_paragraphs(read_text(path)))])
    if ending in (".md", ".markdown"):
        return read_markdown(path)
    return read_html(path) if ending in (".html", ".htm") else read_pdf(path)
