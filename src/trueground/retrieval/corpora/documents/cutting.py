"""Documents cut into passages of some words, on sentence boundaries, never across a heading."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from trueground.retrieval.corpora.documents.base import Document, Section
from trueground.text.sentences import split_sentences

# A character of a script without spaces counts as a word.
_WORD = re.compile(r"[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W_]+")
_LONGEST = 2  # times the words of a passage: what one sentence may have before it is cut itself
_SHORTEST = 4  # a last passage of less than a fourth goes to the one before
_ARROW = " › "


class _Piece(NamedTuple):
    """A sentence with what stands before it in its paragraph, its words, and if it begins one."""

    text: str
    words: int
    begins: bool


def cut(document: Document, name: str, words: int, overlap: int) -> Iterator[tuple[str, str]]:
    """(title, text) of each passage; `name` is the title of a document that has none.

    A passage has at most `words` words, but for one sentence that is longer (twice as long at
    most) and for a short last rest of its section. It begins with the last `overlap` sentences of
    the passage before it in the section, on top of its own.
    """
    title = document.title or name
    for section in document.sections:
        pieces = _pieces(section, words)
        end = 0
        for start, stop in _groups(pieces, words):
            first = max(start - overlap, 0) if start else start
            yield _title(title, section.headings), _text(pieces[first:stop])
            end = stop
        assert end == len(pieces)


def _title(title: str, headings: tuple[str, ...]) -> str:
    chain = headings[1:] if headings[:1] == (title,) else headings
    return _ARROW.join((title, *chain))


def _groups(pieces: list[_Piece], words: int) -> list[tuple[int, int]]:
    """The passages as (first piece, piece after the last)."""
    groups: list[tuple[int, int]] = []
    start = size = 0
    for place, piece in enumerate(pieces):
        if place > start and size + piece.words > words:
            groups.append((start, place))
            start, size = place, 0
        size += piece.words
    if not pieces:
        return []
    if groups and size * _SHORTEST < words:
        start = groups.pop()[0]
    return [*groups, (start, len(pieces))]


def _text(pieces: list[_Piece]) -> str:
    parts = (("\n" if piece.begins and i else "") + piece.text for i, piece in enumerate(pieces))
    return "".join(parts).strip()


def _pieces(section: Section, words: int) -> list[_Piece]:
    """The section's sentences; nothing between them is lost."""
    pieces: list[_Piece] = []
    for paragraph in section.paragraphs:
        begins = True
        for text in _sentences(paragraph):
            for part in _short(text, words):
                pieces.append(_Piece(part, len(_WORD.findall(part)), begins))
                begins = False
    return pieces


def _sentences(paragraph: str) -> Iterator[str]:
    """The paragraph in parts that end where its sentences do."""
    ends = [end for _, end in split_sentences(paragraph)]
    ends[-1:] = [len(paragraph)]
    start = 0
    for end in ends:
        yield paragraph[start:end]
        start = end


def _short(text: str, words: int) -> Iterator[str]:
    """The sentence, or where it is far too long its parts of `words` words."""
    found = [match.start() for match in _WORD.finditer(text)]
    if len(found) <= _LONGEST * words:
        yield text
        return
    starts = [0, *found[words::words], len(text)]
    for start, end in pairwise(starts):
        yield text[start:end]
