"""Sentences of an answer without its brackets, and which brackets are whose.

The brackets are taken out before the package's splitter sees the text, so that stops within them
end no sentence. A bracket belongs to the sentence that it stands in or follows; before any word it
belongs to the first, and right after the bullet of a list to that item.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from trueground.text.citations.base import Sentence
from trueground.text.citations.brackets import Bracket
from trueground.text.sentences import sentences

_BETWEEN = re.compile(r"[ \t]*[,;]?[ \t]*")
_BREAK = re.compile(r"[\n\r\v\f\x85\u2028\u2029]")
_BULLET = re.compile(r"[ \t]*(?:[-*•‣◦▪–—]|\(?[0-9]{1,2}[.)])[ \t]+")
_CLOSING = ".,;:!?…)]}»”’"
_OPENING = "([{«“‘"
_STOPPED = re.compile(r"[.!?…][\"”’»]?\Z")
_STOP = re.compile(r"\.(?!\.)")
_AROUND = ("()", "[]", "{}")  # brackets that hold nothing but citations go with them


class _Bare:
    """A text with brackets taken out; `text`, and the way back to the offsets of the whole."""

    def __init__(self, whole: str, brackets: Sequence[Bracket]) -> None:
        self._whole = whole
        self._pieces: list[str] = []
        self._at: list[int] = []  # where pieces begin in the bare text, and in the whole
        self._from: list[int] = []
        self._length = 0
        self._line = self._seen = 0  # where the line begins, and up to where that is known
        self.places: list[int] = []  # for each bracket, where it stood in the bare text
        self.opens: list[bool] = []  # whether it follows a bullet
        done = i = 0
        while i < len(brackets):
            j = i
            while j + 1 < len(brackets) and self._joined(brackets[j], brackets[j + 1]):
                j += 1
            start, end = brackets[i].start, brackets[j].end
            while start > done and whole[start - 1] + whole[end : end + 1] in _AROUND:
                start, end = start - 1, end + 1
            done = self._cut(done, start, end, j + 1 - i)
            i = j + 1
        self._add(done, len(whole))
        self.text = "".join(self._pieces)

    def _joined(self, one: Bracket, other: Bracket) -> bool:
        return _BETWEEN.fullmatch(self._whole, one.end, other.start) is not None

    def _add(self, start: int, end: int, instead: str | None = None) -> None:
        piece = self._whole[start:end] if instead is None else instead
        if piece:
            self._at.append(self._length)
            self._from.append(start)
            self._pieces.append(piece)
            self._length += len(piece)

    def _cut(self, done: int, start: int, end: int, count: int) -> int:
        """Take out what stands in `start:end` with the spaces around it; where to go on."""
        whole = self._whole
        words = len(whole[done:start].rstrip()) + done
        after = end
        while after < len(whole) and whole[after].isspace():
            after += 1
        self._add(done, words)
        breaks = _BREAK.finditer(whole, self._seen, start)
        self._line = max((found.end() for found in breaks), default=self._line)
        self._seen = end
        opens = _BULLET.fullmatch(whole, self._line, start) is not None
        self.places += [self._length] * count
        self.opens += [opens] * count
        space = (whole[words:start] + whole[end:after]).lstrip(" \t")
        if not _BREAK.search(space):
            following = whole[after : after + 1]
            joined = following.isalnum() or following in _OPENING
            wanted = joined if end == after else following not in _CLOSING
            open_ = not self._pieces or self._pieces[-1][-1:].isspace()
            space = " " if wanted and following and not open_ else ""
        self._add(words, after, space)
        return after + self._stops_again(words, after)

    def _stops_again(self, words: int, after: int) -> bool:
        """Whether a stop stands at `after` though the words before the bracket have theirs."""
        stopped = _STOPPED.search(self._whole[max(words - 2, 0) : words])
        return stopped is not None and _STOP.match(self._whole, after) is not None

    def back(self, place: int) -> int:
        """The offset in the whole text of the character at `place` of a sentence's end or start."""
        i = bisect_right(self._at, place) - 1
        return self._from[i] + place - self._at[i]


def split(text: str, brackets: Sequence[Bracket]) -> tuple[Sentence, ...]:
    """The sentences of an answer in NFC, each with what its brackets cite."""
    bare = _Bare(text, brackets)
    spans = sentences(bare.text)
    if not spans and brackets:
        spans = [(0, 0)]
    owned: list[list[Bracket]] = [[] for _ in spans]
    starts = [start for start, _ in spans]
    for bracket, place, opens in zip(brackets, bare.places, bare.opens, strict=True):
        owner = bisect_left(starts, place) - (not opens)
        owned[min(max(owner, 0), len(spans) - 1)].append(bracket)
    return tuple(_sentence(bare, *s, own) for s, own in zip(spans, owned, strict=True))


def _sentence(bare: _Bare, start: int, end: int, own: Sequence[Bracket]) -> Sentence:
    begins = [b.start for b in own]
    ends = [b.end for b in own]
    if end > start:
        begins.append(bare.back(start))
        ends.append(bare.back(end - 1) + 1)
    return Sentence(
        " ".join(bare.text[start:end].split()),
        min(begins),
        max(ends),
        tuple(c for b in own for c in b.citations),
        sum(b.missing for b in own),
        tuple(n for b in own for n in b.passages),
    )


def without(text: str, brackets: Sequence[Bracket]) -> str:
    """The text with these brackets taken out, and the spaces that stood before them."""
    return _Bare(text, brackets).text.strip()
