"""Brackets that cite passages by number: `[1]`, `[1, 2]`, `[1; 2]`, `[1-3]`."""

from __future__ import annotations

import re

from trueground.text.citations.brackets import Bracket

LONGEST_RANGE = 100
_NUMBER = r"[0-9]{1,3}"  # more digits are a year
_PART = rf"{_NUMBER}(?:\s*[-–]\s*{_NUMBER})?"
_BRACKET = re.compile(rf"(?<!\\)\\*\[\s*({_PART}(?:\s*[,;]\s*{_PART})*)\s*\\*\]")
_PARTS = re.compile(rf"({_NUMBER})(?:\s*[-–]\s*({_NUMBER}))?")


def number_brackets(text: str) -> list[Bracket]:
    """The brackets that hold numbers of passages, in order, the numbers as they are written.

    Numbers of four digits or more, as in [1999], make their bracket text, and so does a range that
    goes backwards or over more than LONGEST_RANGE passages. Markdown's backslashes before a bracket
    belong to it.
    """
    found = []
    for bracket in _BRACKET.finditer(text):
        numbers: list[int] = []
        for part in _PARTS.finditer(bracket[1]):
            first = int(part[1])
            last = int(part[2]) if part[2] else first
            if not first <= last < first + LONGEST_RANGE:
                break
            numbers += range(first, last + 1)
        else:
            found.append(Bracket(bracket.start(), bracket.end(), passages=tuple(numbers)))
    return found
