"""Phrases and words inside a text: the FaithEval phrase sets, and search on word boundaries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

_LEFT = re.compile(r"(?<!\w)")
_RIGHT = re.compile("(?=[^\\w\ufdd0])|\\Z")
# FaithEval, appendix A: what counts as having said that there is no answer, or a conflict.
PHRASES: Mapping[str, Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "unanswerable": MappingProxyType(
            {
                "strict": ("unknown",),
                "loose": ("unknown", "no answer", "no information", "not", "unclear"),
            }
        ),
        "inconsistent": MappingProxyType(
            {
                "strict": ("conflict",),
                "loose": (
                    "conflict",
                    "conflicting",
                    "disagreement",
                    "inconsistent",
                    "contradictory",
                    "contradiction",
                    "inconsistency",
                    "two answers",
                    "2 answers",
                    "multiple answers",
                ),
            }
        ),
    }
)


def has_phrase(normalised: str, phrases: Iterable[str], words: bool) -> str | None:
    """The first of `phrases` that occurs in the normalised text, or None.

    Both sides are already normalised, with single spaces. With `words` a phrase must begin and end
    at word boundaries; without, any substring will do (the paper's rule: "not" is in "another").
    """
    for phrase in phrases:
        if contains_words(normalised, phrase) if words else phrase in normalised:
            return phrase
    return None


def contains_words(haystack: str, needle: str) -> bool:
    """Does `needle` occur with no word character (letter, digit, `_`) directly beside it?

    An empty needle occurs nowhere. A needle that itself begins or ends with a sign, such as "C++",
    needs no more than that its neighbours are no word characters.
    """
    at = haystack.find(needle) if needle else -1
    if at < 0:
        return False
    end = at + len(needle)
    if not _is_word(haystack[at - 1 : at]) and not _is_word(haystack[end : end + 1]):
        return True
    # Perhaps further on. One search, since a needle can overlap itself at every place.
    return _with_edges(needle) in _with_edges(haystack)


def _with_edges(text: str) -> str:
    """The text with one noncharacter behind what is no word character, and another before it."""
    return _RIGHT.sub("\ufdd1", _LEFT.sub("\ufdd0", text))


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"
