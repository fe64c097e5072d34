"""Documents: text, Markdown, HTML and PDF files, and splitting them into passages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from trueground.wings.search.cutting import cut_paragraphs
from trueground.wings.search.html_files import read_html
from trueground.wings.search.links import find_links
from trueground.wings.search.markdown_files import read_markdown
from trueground.wings.search.pdf_files import read_pdf
from trueground.wings.search.sections import Outline, Section, read_text, split_paragraphs


@dataclass
class Document:
    """A document as sections of paragraphs.

    Attributes:
        ENDINGS: The endings of file names of documents.
        title: The title, None if there is none.
        sections: The sections, in order.
        notes: Warnings about parts that couldn't be read.
    """

    ENDINGS: ClassVar[tuple[str, ...]] = (".txt", ".md", ".markdown", ".html", ".htm", ".pdf")

    title: str | None = None
    sections: list[Section] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of_text(cls, text: str) -> Document:
        """Return plain text as a document of one section; wrapped lines are joined.

        Args:
            text: The text. Blank lines separate paragraphs.
        """
        return cls.of_paragraphs(split_paragraphs(text))

    @classmethod
    def of_paragraphs(cls, paragraphs: Sequence[str]) -> Document:
        """Return a document of one section without a heading."""
        return cls(sections=[Section(paragraphs=list(paragraphs))])

    @classmethod
    def read(cls, path: Path) -> Document:
        """Return the document in a file; the ending of its name decides its kind.

        Raises:
            InputError: The file can't be read.
            MissingExtraError: Reading such files needs an optional package.
        """
        ending = path.suffix.lower()
        if ending == ".txt":
            return cls.of_text(read_text(path))
        if ending in (".md", ".markdown"):
            return cls._of_outline(read_markdown(path))
        if ending in (".html", ".htm"):
            return cls._of_outline(read_html(path))
        return cls._of_outline(read_pdf(path))

    @classmethod
    def is_document(cls, path: Path) -> bool:
        """Return whether a file has the ending of a document."""
        return path.suffix.lower() in cls.ENDINGS

    @classmethod
    def _of_outline(cls, outline: Outline) -> Document:
        return cls(outline.title or None, outline.sections, outline.notes)

    @staticmethod
    def read_links(path: Path) -> list[str] | None:
        """Return the addresses of the links in a file, None for a kind of file without links.

        Raises:
            InputError: The file can't be read.
        """
        return find_links(path)

    @property
    def paragraphs(self) -> list[str]:
        """The paragraphs of all sections."""
        paragraphs = []
        for section in self.sections:
            paragraphs += section.paragraphs
        return paragraphs

    def cut(self, name: str, max_words: int, overlap: int = 0) -> Iterator[tuple[str, str]]:
        """Yield the title and text of each passage; see `cut_paragraphs`.

        Args:
            name: The title to use if the document has none.
            max_words: The maximum number of words per passage.
            overlap: The number of sentences that a passage repeats from the passage before it in
                the same section.
        """
        title = self.title or name
        for section in self.sections:
            headings = section.headings
            if headings[:1] == (title,):
                headings = headings[1:]
            for text in cut_paragraphs(section.paragraphs, max_words, overlap):
                yield " › ".join((title, *headings)), text
