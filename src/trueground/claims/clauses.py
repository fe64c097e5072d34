"""Where a sentence holds several statements: the one definition of a clause.

Careful on purpose: a sentence is cut only where both sides have a finite verb of their own, and
in doubt it stays whole.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import islice

from trueground.claims.phrases import data_lines

_CUT = re.compile(  # the look ahead turns most places down at once
    r"(?=[;,\s])(?:(?P<semi>;)\s+|(?P<comma>,)?(?<!\s)\s+"
    r"(?P<word>and|but|while|whereas|although|because)\s+(?=\S))"
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_NEAR = 5  # a verb of the right side must stand among its first words
_BACK = 400  # characters of the left side that are looked at
_LOOK = 8  # words of the right side that are looked at


def clauses(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Cut the sentence `text[start:end]` into clause spans (conjunctions are left out)."""
    spans: list[tuple[int, int]] = []
    begin = start
    for cut in _CUT.finditer(text, start, end):
        if cut.start() > begin and _separates(text, begin, cut, end):
            spans.append((begin, cut.start()))
            begin = cut.end()
    spans.append((begin, end))
    return spans


@lru_cache(maxsize=100_000)
def is_finite(word: str) -> bool:
    """Whether the lower-case `word` looks like a finite verb form."""
    known = _words()
    if word in known["finite"]:
        return True
    return len(word) > 3 and word.endswith("ed") and word not in known["not past"]


def has_finite(text: str, start: int, end: int) -> bool:
    """Whether `text[start:end]` has a finite verb."""
    return any(is_finite(m.group().lower()) for m in _WORD.finditer(text, start, end))


def _separates(text: str, begin: int, cut: re.Match[str], end: int) -> bool:
    begin = max(begin, cut.start() - _BACK)
    left = [m.group().lower() for m in _WORD.finditer(text, begin, cut.start())]
    right = [m.group() for m in islice(_WORD.finditer(text, cut.end(), end), _LOOK)]
    if len(right) < 2 or not any(map(is_finite, left[:-1])):
        return False
    if right[0].lower() == "that":
        return False  # "denied that … and that …": the verb before rules both
    if cut["word"] == "and" and is_finite(left[-1]):
        return False  # "designed and built the tower": one object for two verbs
    verb = next((i for i, word in enumerate(right[:_NEAR]) if is_finite(word.lower())), None)
    if verb is None:
        return bool(cut["semi"]) and any(is_finite(word.lower()) for word in right)
    if cut["word"] != "and" or cut["comma"] or verb == 0:
        return True
    return right[0].lower() in _words()["subject"]


@cache
def _words() -> dict[str, frozenset[str]]:
    """The word lists of this module by name."""
    found: dict[str, set[str]] = {}
    for line in data_lines("clause_words.txt"):
        name, _, words = line.partition(":")
        found.setdefault(name, set()).update(words.split())
    return {name: frozenset(words) for name, words in found.items()}
