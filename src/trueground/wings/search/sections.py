"""Sections of paragraphs under headings; paragraphs of plain text."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from trueground.errors import InputError

_WRAPPED_LINE = 40  # characters; shorter lines are verse, items, addresses or a paragraph's end
_FULL = 0.7  # of the longest lines of its paragraph
_COLUMNS = re.compile(r"\t|\||\s{3}")
_NEW_LINE = re.compile(r"[ \t]|[-*•‣◦▪–—] |\(?\w{1,2}[.)] |.*(?:\t|\|)")


@dataclass
class Section:
    """The paragraphs under one heading; `headings` leads to it from the outermost."""

    headings: tuple[str, ...] = ()
    paragraphs: list[str] = field(default_factory=list)


def read_bytes(path: Path) -> bytes:
    """A file's content. InputError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


def read_text(path: Path) -> str:
    """A text file's content: UTF-8, or UTF-16 where it says so. InputError: neither, or binary."""
    data = read_bytes(path)
    marked = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    encoding = "utf-16" if marked else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: found invalid {encoding.upper().removesuffix('-SIG')} (byte "
            f"0x{data[error.start]:02x} at byte {error.start + 1}); expected text: save it as UTF-8"
        ) from None
    if "\0" in text:
        raise InputError(
            f"{path}: found a NUL byte at character {text.index(chr(0)) + 1}; expected text: it is "
            "probably another kind of file with a wrong ending"
        )
    return text.replace("\r\n", "\n").replace("\r", "\n")


def split_paragraphs(text: str) -> list[str]:
    """The paragraphs of plain text, blank lines between; lines that were only wrapped are joined.

    A line goes on in the next one if it is about as long as the longest of its paragraph, 40
    characters at least, and neither is part of a table, and the next is no item and not indented.
    """
    blocks = re.split(r"\n[ \t]*(?:\n[ \t]*)+|\f", text)
    return [_unwrap(block) for block in blocks if block.strip()]


def _unwrap(block: str) -> str:
    lines = [line.rstrip() for line in block.split("\n") if line.strip()]
    # Some lines of a page of a PDF are longer than its text is wide.
    widest = sorted(map(len, lines))[len(lines) * 9 // 10]
    full = max(_WRAPPED_LINE, _FULL * widest)
    text = lines[0]
    for line, following in pairwise(lines):
        apart = len(line) < full or _COLUMNS.search(line.lstrip()) or _NEW_LINE.match(following)
        text += f"\n{following}" if apart else f" {following}"
    return text


class Outline:
    """Collects paragraphs and headings of levels 1 to 6 into sections.

    Attributes:
        sections: The sections so far.
        title: The title of the document, "" without one.
        notes: What could not be read of the document.
        first: The first heading.
        first_top: The first heading of level 1.
    """

    def __init__(self) -> None:
        self.sections = [Section()]
        self.title = ""
        self.notes: list[str] = []
        self.first = self.first_top = ""
        self._open: list[tuple[int, str]] = []

    def heading(self, level: int, text: str) -> None:
        """Begin a section under the headings of lower levels that are open."""
        text = " ".join(text.split())
        if not text:
            return
        self.first = self.first or text
        if level == 1:
            self.first_top = self.first_top or text
        self._open = [one for one in self._open if one[0] < level] + [(level, text)]
        self.sections.append(Section(tuple(name for _, name in self._open)))

    def paragraph(self, text: str) -> None:
        text = text.strip("\r\n").rstrip()
        if text.strip():
            self.sections[-1].paragraphs.append(text)
