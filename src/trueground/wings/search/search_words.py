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
# In texts of only these characters, \w+ finds the same words five times as fast.
_PLAIN = re.compile(
    r"[\x00-\xb1\xbf-\u02ff\u0370-\u0482\u048a-\u052f\u1e00-\u1fff\u2010-\u2027\u2030-\u203e]*"
)
_PLAIN_WORDS = re.compile(r"\w+")
# A translation table of ASCII: letters to lower case, other signs except _ to spaces.
_SPACED = "".join(c.lower() if c.isalnum() or c == "_" else " " for c in map(chr, range(128)))


def words(text: str) -> list[str]:
    """Return the words of a text for comparison: NFKC, case-folded ("words-1")."""
    if text.isascii():
        return text.translate(_SPACED).split()
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    if _PLAIN.fullmatch(plain):
        return _PLAIN_WORDS.findall(plain)
    matches: list[str] = _WORDS.findall(plain)
    return matches


def stemmer(stem: bool) -> Callable[[str], str]:
    """Return a function from a word to its term: the word itself, or its English stem.

    Raises:
        MissingExtraError: Stems need an optional package.
    """
    if not stem:
        return str
    try:
        import Stemmer
    except ModuleNotFoundError:
        raise MissingExtraError("retrieval by BM25 with stems", "retrieval") from None
    # The cache of the stemmer is off (size 0) because each word is stemmed once.
    stem_word: Callable[[str], str] = Stemmer.Stemmer("english", 0).stemWord
    return stem_word
