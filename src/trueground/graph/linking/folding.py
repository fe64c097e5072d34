"""Texts as names are compared: same length where it can be, so that places stay known."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

import regex

_DASHES = "\u002d\u2010\u2011\u2012\u2013\u2014\u2212"
_APOSTROPHES = "'\u2019\u02bc\uff07"
# A hyphen equals a space: "Chiang Kai shek" is "Chiang Kai-shek".
_TABLE = str.maketrans({**dict.fromkeys(_DASHES, " "), **dict.fromkeys(_APOSTROPHES, "'")})
_GAPS = re.compile(r"[^\S ]|  ")
_JOINING = "\u002d\u2010\u2011"
_POSSESSIVE = regex.compile(rf"[{_APOSTROPHES}]s?(?!\w)", regex.IGNORECASE)
# Scripts in which words are not set apart.
_NO_SPACES = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}]")


class Folded(NamedTuple):
    """`text` is compared; `places[i]` is where its i-th character stands in what was folded.

    None where that is i.
    """

    text: str
    places: list[int] | None = None

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where text[start:end], which is not empty, stands in what was folded."""
        if self.places is None:
            return start, end
        return self.places[start], self.places[end - 1] + 1


def nfc(text: str) -> str:
    """NFC."""
    return unicodedata.normalize("NFC", text)


@lru_cache(1 << 15)  # values such as "male" and "human" stand in most graphs
def fold(text: str) -> Folded:
    """Lower case, dashes as spaces, runs of white space as one; `text` is in NFC."""
    low = text.lower()
    if text.isascii():
        low = low.replace("-", " ")
    else:
        if len(low) != len(text):  # a few letters become two
            low = "".join(c if len(c.lower()) != 1 else c.lower() for c in text)
        low = low.replace("ς", "σ").translate(_TABLE)
    if not _GAPS.search(low):
        return Folded(low)
    places = [i for i, c in enumerate(low) if not c.isspace() or not (i and low[i - 1].isspace())]
    return Folded("".join(" " if low[i].isspace() else low[i] for i in places), places)


def stands_alone(text: str, start: int, end: int) -> bool:
    """Whether text[start:end] begins and ends where words do.

    A hyphen or an apostrophe between two letters joins them into one word, but `'s` and `'` of a
    possessive end it. In scripts without spaces every character is a word.
    """
    return not (_joined_before(text, start) or _joined_after(text, end))


def _joined_before(text: str, start: int) -> bool:
    if start == 0:
        return False
    before = text[start - 1]
    if before in _JOINING or before in _APOSTROPHES:
        return start > 1 and is_word(text[start - 2])
    return is_word(before) and not _apart(before, text[start])


def _joined_after(text: str, end: int) -> bool:
    if end == len(text):
        return False
    after = text[end]
    if after in _APOSTROPHES and _POSSESSIVE.match(text, end):
        return False
    if after in _JOINING or after in _APOSTROPHES:
        return end + 1 < len(text) and is_word(text[end + 1])
    return is_word(after) and not _apart(text[end - 1], after)


def is_word(char: str) -> bool:
    """A letter, a digit, `_` or a mark on a letter."""
    return char.isalnum() or char == "_" or unicodedata.combining(char) > 0


def _apart(left: str, right: str) -> bool:
    return bool(_NO_SPACES.match(left) or _NO_SPACES.match(right))
