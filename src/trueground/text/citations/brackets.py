"""The brackets of an answer: where they close, and what one that cites comes to."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from trueground.text.citations.base import Citation

_RUNS = re.compile(r"\s+|(?<!\\)\\+(?=[\[\]])")
_BRACKET = re.compile(r"[\[\]]")


def searched(text: str) -> str:
    """White space collapsed, and brackets without the backslashes of Markdown before them."""
    return _RUNS.sub(lambda run: "" if run[0][0] == "\\" else " ", text)


@dataclass(frozen=True, slots=True)
class Bracket:
    """One bracket that cites, or [NA]; `start` and `end` are offsets into the NFC answer."""

    start: int
    end: int
    citations: tuple[Citation, ...] = ()
    missing: bool = False
    passages: tuple[int, ...] = ()


class Flat:
    """A text as it is searched, and the way back to its own offsets.

    Each run of white space is one space, and no backslash stands before a bracket: Markdown
    escapes brackets so.
    """

    def __init__(self, text: str) -> None:
        self.text = searched(text)
        self._whole = text
        self._at = [0]
        self._lost = [0]
        lost = 0
        for run in _RUNS.finditer(text):
            kept = 0 if run[0][0] == "\\" else 1
            if run.end() - run.start() > kept:
                lost += run.end() - run.start() - kept
                self._at.append(run.end() - lost)
                self._lost.append(lost)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Start and end in the text as it was, backslashes before the first bracket included."""
        begin = self._back(start)
        while begin and self._whole[begin - 1] == "\\":
            begin -= 1
        return begin, self._back(end - 1) + 1

    def _back(self, place: int) -> int:
        return place + self._lost[bisect_right(self._at, place) - 1]


class Closing:
    """Which "]" ends what stands at a place, by balanced matching; linear in the text."""

    def __init__(self, text: str) -> None:
        self._places = [found.start() for found in _BRACKET.finditer(text)]
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
        found = self._next[bisect_left(self._places, place)]
        return None if found is None else self._places[found]

    def of(self, place: int) -> int | None:
        """Where the "]" stands that closes the "[" at `place`."""
        found = self._match[bisect_left(self._places, place)]
        return None if found is None else self._places[found]
