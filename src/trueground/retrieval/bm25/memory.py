"""BM25 over passages in memory, scored by the library bm25s (Lucene's variant)."""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from typing import Any

import numpy as np
import regex
from numpy.typing import NDArray

from trueground.errors import MissingExtraError, UsageError
from trueground.retrieval.base import Hit

TITLED = ",title+text"  # what is searched, in the signatures of retrievers
_NO_SPACES = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}]"
# Runs of letters and digits; scripts without spaces by character.
_WORDS = regex.compile(rf"{_NO_SPACES}\p{{M}}*|(?:(?!{_NO_SPACES})[\w\p{{M}}])+")
# Where no other character stands, \w+ finds the same words, five times as fast.
_PLAIN = re.compile(
    r"[\x00-\xb1\xbf-\u02ff\u0370-\u0482\u048a-\u052f\u1e00-\u1fff\u2010-\u2027\u2030-\u203e]*"
)
_PLAIN_WORDS = re.compile(r"\w+")
# ASCII: small letters for capitals, spaces for all that is no letter, digit or underscore.
_SPACED = "".join(c.lower() if c.isalnum() or c == "_" else " " for c in map(chr, range(128)))


class BM25:
    """Exact BM25 over `texts`; words are compared without case, or by their English stems.

    score = Σ over the query's words: log(1 + (N − df + ½)/(df + ½)) · tf/(tf + k1·(1 − b + b·l/m)),
    l the passage's words and m their mean; a word that stands twice in the query counts twice. No
    stop words are left out: their weight is small by itself. A passage that shares no word with
    the query is no hit. The index is built with the first search.
    """

    name = "bm25"

    def __init__(
        self,
        texts: Sequence[str],
        *,
        stem: bool = False,
        k1: float = 1.5,
        b: float = 0.75,
        titled: bool = False,
    ) -> None:
        """`titled`: the texts begin with their titles, which the signature tells.

        UsageError for k1 or b out of range; MissingExtraError where bm25s is not installed."""
        if not (isfinite(k1) and k1 >= 0 and 0 <= b <= 1):
            raise UsageError(f"bm25: k1={k1}, b={b}; expected k1 of 0 or more and b from 0 to 1")
        needs = ("bm25s", "PyStemmer") if stem else ("bm25s",)
        libraries = ",".join(f"{package}-{_installed(package)}" for package in needs)
        self.signature = f"bm25:lucene,k1={k1:g},b={b:g}{TITLED * titled},words-1,{libraries}"
        self._texts, self._stemmed = texts, stem
        self._k1, self._b = k1, b
        self._numbers: dict[str, int] = {}
        self._index: Any = None

    def search(self, queries: Sequence[str], top: int) -> list[list[Hit]]:
        """For each query at most `top` hits, best first; equal scores in corpus order."""
        if not self._numbers:
            self._index = self._build()
        key = self._key()
        return [self._hits([key(word) for word in words(query)], top) for query in queries]

    def _hits(self, keys: Sequence[str], top: int) -> list[Hit]:
        known = [self._numbers[key] for key in keys if key in self._numbers]
        return best_hits(self._index.get_scores(known), top) if known and top > 0 else []

    def _build(self) -> Any:
        """The index; None where no text has a word."""
        import bm25s

        numbers, key = self._numbers, self._key()
        seen: dict[str, int] = {}
        rows: list[array[int]] = []
        for text in self._texts:
            found = words(text)
            for word in found:
                if word not in seen:
                    seen[word] = numbers.setdefault(key(word), len(numbers))
            rows.append(array("i", [seen[word] for word in found]))
        if not numbers:
            return None
        index = bm25s.BM25(k1=self._k1, b=self._b, method="lucene", dtype="float32")
        index.index((rows, numbers), create_empty_token=False, show_progress=False)
        return index

    def _key(self) -> Callable[[str], str]:
        """What a word is compared by."""
        if not self._stemmed:
            return str
        import Stemmer

        stem: Callable[[str], str] = Stemmer.Stemmer("english").stemWord
        return stem


def words(text: str) -> list[str]:
    """The words of a text as they are compared: NFKC, without case ("words-1")."""
    if text.isascii():
        return text.translate(_SPACED).split()
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    if _PLAIN.fullmatch(plain):
        return _PLAIN_WORDS.findall(plain)
    found: list[str] = _WORDS.findall(plain)
    return found


def best_hits(scores: NDArray[np.float32], top: int) -> list[Hit]:
    """The `top` highest scores above 0, highest first; equal ones in the order of their index."""
    found = np.flatnonzero(scores)
    if len(found) > top:
        least = np.partition(scores[found], len(found) - top)[len(found) - top]
        found = found[scores[found] >= least]
    found = found[np.argsort(-scores[found], kind="stable")][:top]
    return [Hit(int(i), float(score)) for i, score in zip(found, scores[found], strict=True)]


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        raise MissingExtraError("retrieval by BM25", "retrieval") from None
