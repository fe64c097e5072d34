"""Writing a change into a sentence: what a generator returns, and replacing that reads well."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from training.offline_judge.sources import Pool, Source

_ARTICLE = re.compile(r"\b([Aa])(n?)( +)$")
_VOWEL = re.compile(r"[aeiouAEIOU8]|11\b|18\b")


class Changed(NamedTuple):
    """A claim after one change, and the change: what stood there and what stands there now."""

    claim: str
    before: str
    after: str


# (text, a claim that it supports, all texts, random numbers) → the changed claim, or None where
# the claim offers no place for this change.
Generator = Callable[[Source, str, Pool, random.Random], Changed | None]


def put(claim: str, start: int, end: int, new: str) -> Changed:
    """Replace `claim[start:end]` by `new`, which takes the case of the first letter; "a" and "an"
    before it are mended."""
    old = claim[start:end]
    if old[:1].isupper() and new[:1].islower():
        new = new[0].upper() + new[1:]
    head, tail = claim[:start], claim[end:]
    if article := _ARTICLE.search(head):
        n = "n" if _VOWEL.match(new) else ""
        head = head[: article.start()] + article[1] + n + article[3]
    return Changed(head + new + tail, old, new)


def drop(claim: str, start: int, end: int) -> Changed:
    """Remove `claim[start:end]` and the white space left over; the first letter is a capital."""
    rest = re.sub(r"\s+", " ", claim[:start] + " " + claim[end:]).strip()
    rest = re.sub(r" (?=[.,;:](?:\s|$))", "", rest)
    return Changed(rest[:1].upper() + rest[1:], claim[start:end].strip(), "")


def words_of(
    claim: str, table: Sequence[tuple[str, str]], rng: random.Random
) -> tuple[re.Match[str], str] | None:
    """Pick one place where the left side of a pair stands as whole words in lower case (or at the
    very beginning), and the right side."""
    found: list[tuple[re.Match[str], str]] = []
    lower = claim[:1].lower() + claim[1:]
    for one, other in table:
        if one in lower:
            found += [(match, other) for match in _whole(one).finditer(lower)]
    longest = max((len(m[0].split()) for m, _ in found), default=0)
    found = [(m, other) for m, other in found if len(m[0].split()) == longest]
    return rng.choice(found) if found else None


@cache
def _whole(phrase: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w$£€-]){re.escape(phrase)}(?![\w-])")
