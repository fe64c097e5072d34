"""The brackets of an answer: where they close, what one that cites comes to, numbers of passages.

All places are character offsets into the answer after Unicode NFC.
"""

from __future__ import annotations

import builtins
import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass

LONGEST_RANGE = 100
_NUMBER = r"[0-9]{1,3}"  # more digits are a year
_PART = rf"{_NUMBER}(?:\s*[-–]\s*{_NUMBER})?"
_NUMBERS = re.compile(rf"(?<!\\)\\*\[\s*({_PART}(?:\s*[,;]\s*{_PART})*)\s*\\*\]")
_RANGE = re.compile(rf"({_NUMBER})(?:\s*[-–]\s*({_NUMBER}))?")
_RUNS = re.compile(r"\s+|(?<!\\)\\+(?=[\[\]])")
_BRACKET = re.compile(r"[\[\]]")


@dataclass(frozen=True, slots=True)
class Citation:
    """One cited triple. A bracket with n property-value pairs is n citations of its qid.

    `property` and `value` are spelt as the graph spells them where it has them, else as the answer
    does; what the answer leaves out is "". `start` and `end` are those of the whole bracket.
    `name` is what stands in the place of an id that the answer leaves out.
    """

    qid: str
    property: str
    value: str
    start: int
    end: int
    name: str = ""

    @builtins.property
    def complete(self) -> bool:
        """Whether qid, property and value are all there."""
        return bool(self.qid and self.property and self.value)


@dataclass(frozen=True, slots=True)
class Bracket:
    """One bracket that cites, or [NA]; `start` and `end` are offsets into the NFC answer."""

    start: int
    end: int
    citations: tuple[Citation, ...] = ()
    missing: bool = False
    passages: tuple[int, ...] = ()


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


def flatten(text: str) -> str:
    """White space collapsed, and brackets without the backslashes of Markdown before them."""
    return _RUNS.sub(lambda run: "" if run[0][0] == "\\" else " ", text)


class FlatText:
    """A text as `flatten` gives it, and the way back to its own offsets."""

    def __init__(self, text: str) -> None:
        self.text = flatten(text)
        self._whole = text
        self._at = [0]
        self._lost = [0]
        lost = 0
        for run in _RUNS.finditer(text):
            left = 0 if run[0][0] == "\\" else 1
            if run.end() - run.start() > left:
                lost += run.end() - run.start() - left
                self._at.append(run.end() - lost)
                self._lost.append(lost)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Start and end in the text as it was, backslashes before the first bracket included."""
        begin = self._original(start)
        while begin and self._whole[begin - 1] == "\\":
            begin -= 1
        return begin, self._original(end - 1) + 1

    def _original(self, place: int) -> int:
        return place + self._lost[bisect_right(self._at, place) - 1]


class ClosingBrackets:
    """Which "]" ends what stands at a place, by balanced matching; linear in the text."""

    def __init__(self, text: str) -> None:
        self._places = [bracket.start() for bracket in _BRACKET.finditer(text)]
        n = len(self._places)
        match: list[int | None] = [None] * n
        opened: list[int] = []
        for i, place in enumerate(self._places):
            if text[place] == "[":
                opened.append(i)
            elif opened:
                match[opened.pop()] = i
        # For each bracket the first "]" from there on that nothing from there on opened.
        self._next: list[int | None] = [None] * (n + 1)
        for i in range(n - 1, -1, -1):
            closed = match[i]
            if text[self._places[i]] == "]":
                self._next[i] = i
            elif closed is not None:
                self._next[i] = self._next[closed + 1]
        self._match = match

    def around(self, place: int) -> int | None:
        """Where the "]" stands that closes the bracket in which `place` is; None without one."""
        i = self._next[bisect_left(self._places, place)]
        return None if i is None else self._places[i]

    def of(self, place: int) -> int | None:
        """Where the "]" stands that closes the "[" at `place`."""
        i = self._match[bisect_left(self._places, place)]
        return None if i is None else self._places[i]
