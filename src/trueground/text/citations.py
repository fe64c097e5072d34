"""Answer → its sentences with what they cite: triples of a knowledge graph, numbers of passages.

The brackets are taken out before the text is split into sentences, so that stops within them end no
sentence. A bracket belongs to the sentence that it stands in or follows; before any word it belongs
to the first, and right after the bullet of a list to that item. All places are character offsets
into the answer after Unicode NFC.

Definitions: metrics.md, "Citations of knowledge-graph triples" and "Citations of passages".
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from trueground.text.brackets import triple_brackets
from trueground.text.sentences import split_sentences
from trueground.text.triples import Bracket, Citation
from trueground.types import Graph

LONGEST_RANGE = 100
_NUMBER = r"[0-9]{1,3}"  # more digits are a year
_PART = rf"{_NUMBER}(?:\s*[-–]\s*{_NUMBER})?"
_NUMBERS = re.compile(rf"(?<!\\)\\*\[\s*({_PART}(?:\s*[,;]\s*{_PART})*)\s*\\*\]")
_RANGE = re.compile(rf"({_NUMBER})(?:\s*[-–]\s*({_NUMBER}))?")
_BETWEEN = re.compile(r"[ \t]*[,;]?[ \t]*")
_BREAK = re.compile(r"[\n\r\v\f\x85\u2028\u2029]")
_BULLET = re.compile(r"[ \t]*(?:[-*•‣◦▪–—]|\(?[0-9]{1,2}[.)])[ \t]+")
_CLOSING = ".,;:!?…)]}»”’"
_OPENING = "([{«“‘"
_STOPPED = re.compile(r"[.!?…][\"”’»]?\Z")
_STOP = re.compile(r"\.(?!\.)")
_AROUND = ("()", "[]", "{}")  # brackets that hold nothing but citations go with them


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of an answer, its brackets before or after the full stop included.

    `text` is the sentence without its brackets; "" where the answer has nothing but brackets.
    `missing` counts its brackets that say NA. `passages` are the numbers that it cites, from 1, in
    their order.
    """

    text: str
    start: int
    end: int
    citations: tuple[Citation, ...] = ()
    missing: int = 0
    passages: tuple[int, ...] = ()


@dataclass(frozen=True)
class CitedText:
    """A text that cites in brackets: triples of knowledge graphs, or passages by their numbers.

    Attributes:
        text: The text, such as an answer. All offsets are those after Unicode NFC.
        graphs: The graphs that it was given. Triples are read against what they have.
    """

    text: str
    graphs: Sequence[Graph] = ()

    def triple_sentences(self) -> tuple[Sentence, ...]:
        """Return the sentences with the triples that they cite."""
        return _split(self._composed, triple_brackets(self._composed, self.graphs))

    def numbered_sentences(self) -> tuple[Sentence, ...]:
        """Return the sentences with the numbers of passages that they cite."""
        return _split(self._composed, number_brackets(self._composed))

    def without_triples(self) -> str:
        """Return the text without the brackets that cite triples, and without [NA]."""
        return _remove(self._composed, triple_brackets(self._composed, self.graphs))

    def without_citations(self) -> str:
        """Return the text without what it cites: triples, [NA] and numbers of passages."""
        triples = triple_brackets(self._composed, self.graphs)
        ends = iter(triples)
        inside = next(ends, None)
        brackets = list(triples)
        for bracket in number_brackets(self._composed):
            while inside is not None and inside.end <= bracket.start:
                inside = next(ends, None)
            if inside is None or bracket.end <= inside.start:
                brackets.append(bracket)
        return _remove(self._composed, sorted(brackets, key=lambda b: b.start))

    @cached_property
    def _composed(self) -> str:
        return unicodedata.normalize("NFC", self.text)


def number_brackets(text: str) -> list[Bracket]:
    """The brackets with numbers of passages, `[1]`, `[1, 2]`, `[1; 2]`, `[1-3]`, in order.

    Numbers of four digits or more, as in [1999], make their bracket text, and so does a range that
    goes backwards or over more than LONGEST_RANGE passages. Markdown's backslashes before a bracket
    belong to it.
    """
    brackets = []
    for bracket in _NUMBERS.finditer(text):
        numbers: list[int] = []
        for part in _RANGE.finditer(bracket[1]):
            first = int(part[1])
            last = int(part[2]) if part[2] else first
            if not first <= last < first + LONGEST_RANGE:
                break
            numbers += range(first, last + 1)
        else:
            brackets.append(Bracket(bracket.start(), bracket.end(), passages=tuple(numbers)))
    return brackets


def _remove(text: str, brackets: Sequence[Bracket]) -> str:
    """The text with these brackets taken out, and the spaces before them."""
    return _BareText(text, brackets).text.strip()


def _split(text: str, brackets: Sequence[Bracket]) -> tuple[Sentence, ...]:
    """The sentences of an answer in NFC, each with what its brackets cite."""
    bare = _BareText(text, brackets)
    spans = split_sentences(bare.text)
    if not spans and brackets:
        spans = [(0, 0)]
    owned: list[list[Bracket]] = [[] for _ in spans]
    starts = [start for start, _ in spans]
    for bracket, place, opens in zip(brackets, bare.places, bare.opens, strict=True):
        owner = bisect_left(starts, place) - (not opens)
        owned[min(max(owner, 0), len(spans) - 1)].append(bracket)
    return tuple(_sentence(bare, *s, own) for s, own in zip(spans, owned, strict=True))


def _sentence(bare: _BareText, start: int, end: int, own: Sequence[Bracket]) -> Sentence:
    begins = [b.start for b in own]
    ends = [b.end for b in own]
    if end > start:
        begins.append(bare.original(start))
        ends.append(bare.original(end - 1) + 1)
    return Sentence(
        " ".join(bare.text[start:end].split()),
        min(begins),
        max(ends),
        tuple(c for b in own for c in b.citations),
        sum(b.missing for b in own),
        tuple(n for b in own for n in b.passages),
    )


class _BareText:
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
            while j + 1 < len(brackets) and _BETWEEN.fullmatch(
                whole, brackets[j].end, brackets[j + 1].start
            ):
                j += 1
            start, end = brackets[i].start, brackets[j].end
            while start > done and whole[start - 1] + whole[end : end + 1] in _AROUND:
                start, end = start - 1, end + 1
            done = self._cut(done, start, end, j + 1 - i)
            i = j + 1
        self._add(done, whole[done:])
        self.text = "".join(self._pieces)

    def original(self, place: int) -> int:
        """The offset in the whole text of the character at `place` of a sentence's end or start."""
        i = bisect_right(self._at, place) - 1
        return self._from[i] + place - self._at[i]

    def _add(self, start: int, piece: str) -> None:
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
        self._add(done, whole[done:words])
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
        self._add(words, space)
        # A stop behind the bracket is left out where the words before it have theirs.
        stopped = _STOPPED.search(whole[max(words - 2, 0) : words])
        return after + (stopped is not None and _STOP.match(whole, after) is not None)
