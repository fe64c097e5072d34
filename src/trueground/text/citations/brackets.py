"""The brackets of an answer: where they close, and what one that cites comes to."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from trueground.text.citations.base import Citation

_SPACES = re.compile(r"\s+")
_BRACKET = re.compile(r"[\[\]]")


@dataclass(frozen=True, slots=True)
class Bracket:
    """One bracket that cites, or [NA]; `start` and `end` are offsets into the NFC answer."""

    start: int
    end: int
    citations: tuple[Citation, ...] = ()
    missing: bool = False
    passages: tuple[int, ...] = ()


class Flat:
    """A text with each run of white space as one space, and the way back to its own offsets."""

    def __init__(self, text: str) -> None:
        self.text = _SPACES.sub(" ", text)
        self._at = [0]
        self._lost = [0]
        lost = 0
        for run in _SPACES.finditer(text):
            if run.end() - run.start() > 1:
                lost += run.end() - run.start() - 1
                self._at.append(run.end() - lost)
                self._lost.append(lost)

    def back(self, place: int) -> int:
        """The offset in the text as it was of the character at `place`."""
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
