"""The normalizers, named, versioned rules that turn a text into space-separated tokens, and words.

A change of rule is a new name, never an edit: the name is part of every metric's signature.
Golden cases for each stand in tests/data/golden_*.jsonl.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import regex

from trueground.errors import UsageError

# The ASCII characters at which str.split() splits.
_ASCII_SPACE = b" \t\n\v\f\r\x1c\x1d\x1e\x1f"
ARTICLES = (b"a", b"an", b"the")
_PUNCTUATION = string.punctuation.encode()
# Python's own \b, as in the papers' scripts: the regex library counts fewer characters as words.
_ARTICLE = re.compile(r"\b(a|an|the)\b")
# The edges of words, for `contains_words`.
_LEFT = re.compile(r"(?<!\w)")
_RIGHT = re.compile("(?=[^\\w\ufdd0])|\\Z")
_WORDS = re.compile(r"\w+")
_TO_SPACE = str.maketrans(dict.fromkeys(string.punctuation + "‘’´`", " "))
_DELETE = str.maketrans("", "", string.punctuation)
_NOT_ROUGE = regex.compile(r"[^a-z0-9]+")
_DASHES = regex.compile(r"[\p{Pd}\u2212]")
_MARKS = regex.compile(r"[\u0610-\u061a\u064b-\u065f\u0670\u0640\u0591-\u05bd\u05bf\u05c1-\u05c7]")
_THOUSANDS = regex.compile(r"(?<=\d),(?=\d{3}(?!\d))")
# Punctuation stays inside a number; a minus and a decimal point stay at its beginning.
_LOOSE = regex.compile(r"(?!(?<=\d)\p{P}(?=\d))(?!(?<!\w)(?:-(?=\.?\d)|\.(?=\d)))\p{P}")
# Scripts that do not set spaces between words, as a set of characters of `regex`.
NO_SPACES = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}"
_GRAPHEME = regex.compile(rf"(?=[{NO_SPACES}])\X")


@dataclass(frozen=True)
class Normalizer:
    """A rule: `rule(text)` gives the tokens, joined by single spaces.

    `ascii_table`, where there is one, does the same for texts of letters, digits, ASCII punctuation
    and white space in one pass over bytes: map each byte, delete those in `ascii_delete`, split at
    spaces, drop the tokens in `ascii_drop`. Texts with control characters take `rule`.
    """

    name: str
    rule: Callable[[str], str]
    doc: str
    ascii_table: bytes | None = None
    ascii_delete: bytes = b""
    ascii_drop: tuple[bytes, ...] = ()
    NAMES: ClassVar[tuple[str, ...]] = ("squad", "faitheval", "unicode-1")

    @staticmethod
    def named(name: str, lang: str = "en") -> Normalizer:
        """Return the normalizer of that name.

        Args:
            name: One of `NAMES`, or "rouge".
            lang: Language of the texts, such as "de". It matters to `unicode-1` only.

        Raises:
            UsageError: There is no normalizer of that name.
        """
        return _make(name, lang)


def _without_articles(marks: dict[int, Any]) -> Callable[[str], str]:
    """The rule of the papers, with their table of what becomes of marks."""
    return lambda text: " ".join(_ARTICLE.sub(" ", text.lower().translate(marks)).split())


def _rouge(text: str) -> str:
    return _NOT_ROUGE.sub(" ", text.lower()).strip()


def byte_table(to_space: bytes) -> bytes:
    """Lower-case ASCII; white space and the bytes of `to_space` become spaces; others stay."""
    table = bytearray(range(256))
    for upper in range(ord("A"), ord("Z") + 1):
        table[upper] = upper + 32
    for byte in _ASCII_SPACE + to_space:
        table[byte] = 32
    return bytes(table)


def _unicode_1(text: str, lang: str) -> str:
    text = unicodedata.normalize("NFKC", text).casefold()
    text = unicodedata.normalize("NFKC", text)  # casefolding can undo the composition
    text = _MARKS.sub("", _DASHES.sub("-", text))
    text = _LOOSE.sub("", _THOUSANDS.sub("", text))
    if lang == "en":
        text = _ARTICLE.sub(" ", text)
    return " ".join(_GRAPHEME.sub(r" \g<0> ", text).split())


SQUAD = Normalizer(
    "squad",
    _without_articles(_DELETE),
    "lower case, no ASCII punctuation, no English articles",
    byte_table(b""),
    _PUNCTUATION,
    ARTICLES,
)
FAITHEVAL = Normalizer(
    "faitheval",
    _without_articles(_TO_SPACE),
    "as squad, but punctuation becomes a space",
    byte_table(_PUNCTUATION),
    b"",
    ARTICLES,
)


@lru_cache(maxsize=64)
def _make(name: str, lang: str) -> Normalizer:
    if name == "unicode-1":
        return Normalizer(
            f"unicode-1:{lang}",
            lambda text: _unicode_1(text, lang),
            "by Unicode categories; numbers stay whole; scripts without spaces by grapheme",
        )
    if name == "rouge":
        doc = "a-z and 0-9 only, as rouge-score"
        return Normalizer(name, _rouge, doc, byte_table(_PUNCTUATION))
    fixed = {"squad": SQUAD, "faitheval": FAITHEVAL}
    if name not in fixed:
        raise UsageError.unknown_name("normalizer", name, Normalizer.NAMES)
    return fixed[name]


def contains_words(haystack: str, needle: str) -> bool:
    """Does `needle` occur with no word character (letter, digit, `_`) directly beside it?

    An empty needle occurs nowhere. A needle that itself begins or ends with a sign, such as "C++",
    needs no more than that its neighbors are no word characters.
    """
    at = haystack.find(needle) if needle else -1
    if at < 0:
        return False
    end = at + len(needle)
    if not _is_word(haystack[at - 1 : at]) and not _is_word(haystack[end : end + 1]):
        return True
    # Perhaps further on. One search, since a needle can overlap itself at every place.
    with_edges, words = _read_haystack(haystack)
    return words.issuperset(_WORDS.findall(needle)) and _with_edges(needle) in with_edges


@lru_cache(maxsize=4)
def _read_haystack(haystack: str) -> tuple[str, frozenset[str]]:
    """(the text with its edges, its words): the same for many needles, one after the other."""
    return _with_edges(haystack), frozenset(_WORDS.findall(haystack))


def _with_edges(text: str) -> str:
    """The text with one noncharacter behind what is no word character, and another before it."""
    return _RIGHT.sub("\ufdd1", _LEFT.sub("\ufdd0", text))


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def fact_key(text: str) -> str:
    """What two facts have in common where they are the same one: case, spaces and the end aside."""
    return " ".join(text.casefold().split()).rstrip(".!;, ")
