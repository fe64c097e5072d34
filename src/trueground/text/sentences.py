"""Where the sentences of a text stand: the one definition for the whole package.

The library sentencex finds the boundaries; line breaks, bullets and table rows end a sentence too.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from sentencex import get_sentence_boundaries  # type: ignore[import-untyped]

_BULLET = re.compile(r"[ \t]*(?:[-*•‣◦▪–—][ \t]+|\(?\d{1,2}[.)][ \t]+|\|[ \t]*)")
_WORD = re.compile(r"\w")
# What sentencex 1.0.32 panics at: an initial, white space that ends beyond ASCII, a full stop. It
# cuts one byte off to look at the letter. A plain space in its place changes no boundary.
_INITIAL = re.compile(r"([A-Z]\s*)[^\S\x00-\x7f](?=\.)")
_BREAKS = "\n\r\v\f\x85\u2028\u2029"
_LINE_BREAK = re.compile(rf"(?:\r\n|[{_BREAKS}])\s*")
_MARK = re.compile(r"[^\w\s]")
_MOST_MARKS = 500  # in what the library reads at once: its time grows with their number, squared
_WRAPPED_LINE = 40  # a shorter line that ends without punctuation is an item, not wrapped text


def split_sentences(text: str) -> list[tuple[int, int]]:
    """Return the character spans (start, end exclusive) of the sentences of `text`, in order.

    Spans carry no outer white space, never overlap and hold at least one letter or digit; a blank
    text has none. A list bullet or the bar that opens a table row is left outside the span.
    """
    spans: list[tuple[int, int]] = []
    broken = _LINE_BREAK.search(text) is not None
    read = text if text.isascii() else _INITIAL.sub(r"\1 ", text)
    for start, end in _boundaries(read):
        if broken:
            _split_lines(text, start, end, spans)
        else:
            _add(text, start, end, spans)
    return spans


def _boundaries(text: str) -> Iterator[tuple[int, int]]:
    """Spans of the sentences as the library finds them, in time linear in the length of the text.

    A text with very many marks is read in windows that end with a paragraph. In a longer paragraph
    the last sentence of a window may go on behind it, so the next window begins with that sentence.
    """
    marks = [mark.end() for mark in _MARK.finditer(text)] if len(text) > _MOST_MARKS else []
    begin = place = 0
    while len(marks) - place > _MOST_MARKS:
        cut = marks[place + _MOST_MARKS - 1]
        paragraph = text.rfind("\n\n", begin + 1, cut)
        cut = paragraph if paragraph > 0 else cut
        pieces = get_sentence_boundaries("en", text[begin:cut])
        ends = [(begin + one["start_index"], begin + one["end_index"]) for one in pieces]
        begin = cut
        if paragraph < 0 and len(ends) > 1:
            begin = ends.pop()[0]
        yield from ends
        place = bisect_right(marks, begin)
    for one in get_sentence_boundaries("en", text[begin:]):
        yield begin + one["start_index"], begin + one["end_index"]


def _split_lines(text: str, start: int, end: int, spans: list[tuple[int, int]]) -> None:
    """Add one span for each line in `text[start:end]`, keeping wrapped running text whole."""
    begin = line = start
    for brk in _LINE_BREAK.finditer(text, start, end):
        after = brk.end()
        long_line = brk.start() - line >= _WRAPPED_LINE
        wrapped = long_line and text[after : after + 1].islower() and _is_single(brk.group())
        line = after
        if not wrapped:
            _add(text, begin, brk.start(), spans)
            begin = after
    _add(text, begin, end, spans)


def _is_single(gap: str) -> bool:
    return len(gap.splitlines()) <= 1


def _add(text: str, start: int, end: int, spans: list[tuple[int, int]]) -> None:
    """Append the span without outer white space and leading bullet, when a word is left."""
    if start == 0 or text[start - 1] in _BREAKS:
        bullet = _BULLET.match(text, start, end)
        start = bullet.end() if bullet else start
    piece = text[start:end].rstrip()
    end = start + len(piece)
    piece = piece.lstrip()
    start = end - len(piece)
    if piece[:1].isalnum() or _WORD.search(piece):
        spans.append((start, end))
