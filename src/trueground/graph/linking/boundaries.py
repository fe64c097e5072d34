"""Where names in a text begin and end: where its words do."""

from __future__ import annotations

import unicodedata

import regex

from trueground.graph.folding import APOSTROPHES

_JOINING = "\u002d\u2010\u2011"
_POSSESSIVE = regex.compile(rf"[{APOSTROPHES}]s?(?!\w)", regex.IGNORECASE)
# Scripts in which words are not set apart.
_NO_SPACES = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}]")


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
    if before in _JOINING or before in APOSTROPHES:
        return start > 1 and is_word(text[start - 2])
    return is_word(before) and not _apart(before, text[start])


def _joined_after(text: str, end: int) -> bool:
    if end == len(text):
        return False
    after = text[end]
    if after in APOSTROPHES and _POSSESSIVE.match(text, end):
        return False
    if after in _JOINING or after in APOSTROPHES:
        return end + 1 < len(text) and is_word(text[end + 1])
    return is_word(after) and not _apart(text[end - 1], after)


def is_word(char: str) -> bool:
    """A letter, a digit, `_` or a mark on a letter."""
    return char.isalnum() or char == "_" or unicodedata.combining(char) > 0


def _apart(left: str, right: str) -> bool:
    return bool(_NO_SPACES.match(left) or _NO_SPACES.match(right))
