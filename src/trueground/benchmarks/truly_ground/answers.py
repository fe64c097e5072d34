"""Truly-Ground's answers as references: alternatives, and answers of several parts.

The published notation: `|` stands between alternatives, `&` between parts that are all needed, and
lines after the first (some with a real line break, some with the two characters \\n) give the
alternatives of one part, headed by it.
"""

from __future__ import annotations

import re
from itertools import product
from math import prod

_LINES = re.compile(r"\s*(?:\n|\\n)\s*")
_PARTS = re.compile(r"\s+&\s+")
_ALTERNATIVES = re.compile(r"\s*\|\s*")
PART = " & "
MOST = 1000  # references of one answer


def references(answer: str) -> list[str]:
    """Every acceptable answer once; where it has parts, they are joined by " & ".

    Empty for a blank answer. ValueError, whose words say what was found, for alternatives of a
    part that the first line does not name, and for more than MOST references.
    """
    lines = [line for line in _LINES.split(answer.strip()) if line]
    if not lines:
        return []
    first, *others = lines
    parts = [_alternatives(part) for part in _PARTS.split(first)]
    for line in others:
        more = _alternatives(line)
        named = next((part for part in parts if more and more[0] in part), None)
        if named is None:
            raise ValueError(f"alternatives of {line!r}, which is no part of {first!r}")
        named += [one for one in more if one not in named]
    if prod(map(len, parts)) > MOST:
        raise ValueError(f"more than {MOST:,} combinations of alternatives")
    return list(dict.fromkeys(PART.join(chosen) for chosen in product(*parts) if any(chosen)))


def _alternatives(text: str) -> list[str]:
    return [one for one in _ALTERNATIVES.split(text.strip()) if one]
