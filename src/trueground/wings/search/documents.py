"""Documents: text, Markdown, HTML and PDF files, and how they are cut into passages."""

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
        ENDINGS: How the names of files end that are documents.
        title: The title. None without one.
        sections: The sections, in order.
        notes: What could not be read of the document.
    """

    ENDINGS: ClassVar[tuple[str, ...]] = (".txt", ".md", ".markdown", ".html", ".htm", ".pdf")

    title: str | None = None
    sections: list[Section] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of_text(cls, text: str) -> Document:
        """Return plain text as a document of one section, with blank lines between paragraphs.

        Lines that were only wrapped are joined.
        """
        return cls.of_paragraphs(split_paragraphs(text))

    @classmethod
    def of_paragraphs(cls, paragraphs: Sequence[str]) -> Document:
        """Return a document of one section without a heading."""
        return cls(sections=[Section(paragraphs=list(paragraphs))])

    @classmethod
    def read(cls, path: Path) -> Document:
        """Return the document of a file, whose kind follows from the ending.

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
        """Return whether the name of a file ends as that of a document."""
        return path.suffix.lower() in cls.ENDINGS

    @classmethod
    def _of_outline(cls, outline: Outline) -> Document:
        return cls(outline.title or None, outline.sections, outline.notes)

    @staticmethod
    def read_links(path: Path) -> list[str] | None:
        """Return the addresses of the links in a file. None for a kind of file without links.

        Raises:
            InputError: The file can't be read.
        """
        return find_links(path)

    @property
    def paragraphs(self) -> list[str]:
        """The paragraphs of all sections."""
        return [paragraph for section in self.sections for paragraph in section.paragraphs]

    def cut(self, name: str, words: int, overlap: int = 0) -> Iterator[tuple[str, str]]:
        """Yield title and text of each passage; see `cut_paragraphs`.

        Args:
            name: The title of a document that has none.
            words: The most words of a passage.
            overlap: How many of the last sentences of the passage before, in the same section, a
                passage repeats.
        """
        title = self.title or name
        for section in self.sections:
            headings = section.headings
            if headings[:1] == (title,):
                headings = headings[1:]
            for text in cut_paragraphs(section.paragraphs, words, overlap):
                yield " › ".join((title, *headings)), text
