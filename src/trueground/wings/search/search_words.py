"""The words of a text as BM25 indexes them, and their stems."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

import regex

from trueground.errors import MissingExtraError
from trueground.text import NO_SPACES

_NO_SPACES = rf"[{NO_SPACES}]"
# Runs of letters and digits; scripts without spaces by character.
_WORDS = regex.compile(rf"{_NO_SPACES}\p{{M}}*|(?:(?!{_NO_SPACES})[\w\p{{M}}])+")
# Where no other character stands, \w+ finds the same words, five times as fast.
_PLAIN = re.compile(
    r"[\x00-\xb1\xbf-\u02ff\u0370-\u0482\u048a-\u052f\u1e00-\u1fff\u2010-\u2027\u2030-\u203e]*"
)
_PLAIN_WORDS = re.compile(r"\w+")
# ASCII: small letters for capitals, spaces for all that is no letter, digit or underscore.
_SPACED = "".join(c.lower() if c.isalnum() or c == "_" else " " for c in map(chr, range(128)))


def words(text: str) -> list[str]:
    """The words of a text as they are compared: NFKC, without case ("words-1")."""
    if text.isascii():
        return text.translate(_SPACED).split()
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    if _PLAIN.fullmatch(plain):
        return _PLAIN_WORDS.findall(plain)
    found: list[str] = _WORDS.findall(plain)
    return found


def stemmer(stem: bool) -> Callable[[str], str]:
    """What a word is compared by: itself, or its English stem. MissingExtraError."""
    if not stem:
        return str
    try:
        import Stemmer
    except ModuleNotFoundError:
        raise MissingExtraError("retrieval by BM25 with stems", "retrieval") from None
    # Without its own cache: each word is asked for once.
    stemmed: Callable[[str], str] = Stemmer.Stemmer("english", 0).stemWord
    return stemmed
