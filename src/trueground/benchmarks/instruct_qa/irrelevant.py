"""A passage that has nothing to do with a question: far down the list, or not in it at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from math import gcd

from trueground.benchmarks.instruct_qa.items import QaQuestion
from trueground.retrieval.base import Passages
from trueground.retrieval.bm25.memory import words
from trueground.retrieval.gold import is_gold


def after_rank(
    item: QaQuestion, ranked: Sequence[int], rank: int, passages: Passages
) -> tuple[int, int] | None:
    """The first passage behind `rank` that is not gold, and its own rank; None where there is none.

    `ranked` are passages by number, best first; ranks begin with 1.
    """
    for place, number in enumerate(ranked[rank:], start=rank + 1):
        if not _is_gold(item, number, passages):
            return number, place
    return None


def not_found(item: QaQuestion, ranked: Sequence[int], passages: Passages) -> int | None:
    """A passage that the search did not find, by number; None where the corpus has none.

    It is not gold, and no reference answer stands in it or its title, word for word. Which one it
    is depends on the question's id and the size of the corpus.
    """
    found = set(ranked)
    answers = [_spaced(one) for one in item.references if words(one)]
    for number in _shuffled(item.id, len(passages)):
        if number in found or _is_gold(item, number, passages):
            continue
        text = _spaced(passages.searched[number])
        if not any(answer in text for answer in answers):
            return number
    return None


def _is_gold(item: QaQuestion, number: int, passages: Passages) -> bool:
    return any(is_gold(passages, number, gold) for gold in item.gold)


def _spaced(text: str) -> str:
    return f" {' '.join(words(text))} "


def _shuffled(seed: str, size: int) -> Iterator[int]:
    """Every number below `size` once, in an order that depends on the seed; no list is made."""
    digest = sha256(seed.encode("utf-8", "surrogatepass")).digest()
    start, step = int.from_bytes(digest[:16]) % size, 1 + int.from_bytes(digest[16:]) % size
    while gcd(step, size) > 1:
        step += 1
    for i in range(size):
        yield (start + i * step) % size
