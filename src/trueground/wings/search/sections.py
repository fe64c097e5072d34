"""Sections of paragraphs under headings, and paragraphs of plain text."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from trueground.errors import InputError

# Shorter lines aren't wrapped: they are verse, items, addresses or the end of a paragraph.
_MIN_WRAPPED_CHARACTERS = 40
# A wrapped line is at least this share of the longest lines of its paragraph.
_MIN_WRAPPED_SHARE = 0.7
_COLUMNS = re.compile(r"\t|\||\s{3}")
_NEW_LINE = re.compile(r"[ \t]|[-*•‣◦▪–—] |\(?\w{1,2}[.)] |.*(?:\t|\|)")


@dataclass
class Section:
    """The paragraphs under one heading; `headings` is the path to it from the outermost one."""

    headings: tuple[str, ...] = ()
    paragraphs: list[str] = field(default_factory=list)


def read_bytes(path: Path) -> bytes:
    """Return the content of a file. Raises InputError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"can't read {path}: {error.strerror or error}") from error


def read_text(path: Path) -> str:
    """Return the content of a text file: UTF-16 if it has its byte order mark, else UTF-8.

    Raises:
        InputError: The file isn't valid text in that encoding.
    """
    data = read_bytes(path)
    is_utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    encoding = "utf-16" if is_utf16 else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: found invalid {encoding.upper().removesuffix('-SIG')} (byte "
            f"0x{data[error.start]:02x} at byte {error.start + 1}); expected text. Save it as UTF-8"
        ) from None
    if "\0" in text:
        raise InputError(
            f"{path}: found a NUL byte at character {text.index(chr(0)) + 1}; expected text. It is "
            "probably another kind of file with the wrong ending"
        )
    return text.replace("\r\n", "\n").replace("\r", "\n")


def split_paragraphs(text: str) -> list[str]:
    """Split plain text at blank lines into paragraphs, and join wrapped lines.

    A line is joined with the next one if it is about as long as the longest of its paragraph, and
    at least 40 characters. Rows of tables, list items and indented lines aren't joined.
    """
    blocks = re.split(r"\n[ \t]*(?:\n[ \t]*)+|\f", text)
    return [_unwrap(block) for block in blocks if block.strip()]


def _unwrap(block: str) -> str:
    lines = [line.rstrip() for line in block.split("\n") if line.strip()]
    # The longest lines are ignored: on a page of a PDF, some are longer than its text is wide.
    width = sorted(map(len, lines))[len(lines) * 9 // 10]
    min_length = max(_MIN_WRAPPED_CHARACTERS, _MIN_WRAPPED_SHARE * width)
    text = lines[0]
    for line, following in pairwise(lines):
        is_short = len(line) < min_length
        ends_here = is_short or _COLUMNS.search(line.lstrip()) or _NEW_LINE.match(following)
        text += f"\n{following}" if ends_here else f" {following}"
    return text


class Outline:
    """A builder of sections from paragraphs and headings of levels 1 to 6.

    Attributes:
        sections: The sections so far.
        title: The title of the document, "" if there is none.
        notes: Warnings about parts that couldn't be read.
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
        """Start a section under the open headings of lower levels."""
        text = " ".join(text.split())
        if not text:
            return
        self.first = self.first or text
        if level == 1:
            self.first_top = self.first_top or text
        self._open = [heading for heading in self._open if heading[0] < level]
        self._open.append((level, text))
        self.sections.append(Section(tuple(name for _, name in self._open)))

    def paragraph(self, text: str) -> None:
        """Add a paragraph to the current section, unless it is blank."""
        text = text.strip("\r\n").rstrip()
        if text.strip():
            self.sections[-1].paragraphs.append(text)
