"""Which words can carry a clause."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from trueground.claims.phrases import data_lines

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


@lru_cache(maxsize=100_000)
def is_finite(word: str) -> bool:
    """Whether the lower-case `word` looks like a finite verb form."""
    known = word_lists("clause_words.txt")
    if word in known["finite"]:
        return True
    return len(word) > 3 and word.endswith("ed") and word not in known["not past"]


def has_finite(text: str) -> bool:
    """Whether `text` has a finite verb."""
    return any(is_finite(m.group().lower()) for m in _WORD.finditer(text))


@cache
def word_lists(file: str) -> dict[str, frozenset[str]]:
    """The word lists of a data file of this room by name."""
    found: dict[str, set[str]] = {}
    for line in data_lines(file):
        name, _, words = line.partition(":")
        found.setdefault(name, set()).update(words.split())
    return {name: frozenset(words) for name, words in found.items()}
