"""Search in a BM25 index on disk: the highest sums of scores, without reading the longest lists.

A frequent word adds little to a score. So the rare words of a query are added up first, and once
all others together cannot lift a passage among the best, only the passages that are still in the
running are looked up in the long lists (MaxScore: Turtle & Flood 1995). What is left is added up
anew in the query's order, in float32: the numbers are those of a search through everything.
"""

from __future__ import annotations

import mmap
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueground.retrieval.bm25.blocks import term_of
from trueground.retrieval.bm25.build import (
    HIGHEST,
    OFFSETS,
    PASSAGES,
    SCORES,
    SORTED,
    STARTS,
    VOCABULARY,
)
from trueground.retrieval.bm25.memory import words

Found = tuple[NDArray[np.int32], NDArray[np.float32]]
_NOTHING: Found = (np.empty(0, np.int32), np.empty(0, np.float32))
_FEW = 100_000  # postings that are added up without any thought
_SHORT = 4_096
_PER_SEARCH = 25  # postings that are read in the time of one binary search
# Of float32, generously: how far sums in another order can be apart, for each addition.
_ROUNDING = 2.0**-22


class Searcher:
    """One index, memory-mapped."""

    def __init__(self, folder: Path, passages: int, stem: bool) -> None:
        """OSError and ValueError where files are missing or are no arrays; MissingExtraError."""
        self._key = term_of(stem)
        self._size = passages
        self._scores, self._passages = _mapped(folder / SCORES), _mapped(folder / PASSAGES)
        self._starts, self._highest = _mapped(folder / STARTS), _mapped(folder / HIGHEST)
        self._terms = _Terms(folder)

    def search(self, queries: Sequence[str], top: int) -> list[Found]:
        """For each query passages and scores, best first; equal scores in corpus order."""
        sums = np.zeros(self._size, np.float32)
        known: dict[str, int | None] = {}
        found = []
        for query in queries:
            terms = []
            for word in words(query):
                if word not in known:
                    known[word] = self._terms.number(self._key(word))
                if (number := known[word]) is not None:
                    terms.append(number)
            found.append(_Query(self, terms).best(top, sums) if terms and top > 0 else _NOTHING)
        return found

    def postings(self, term: int) -> Found:
        """Which passages have a term, in corpus order, and its score in each."""
        low, high = self._starts[term : term + 2].tolist()
        return self._passages[low:high], self._scores[low:high]

    def highest(self, term: int) -> float:
        """The highest score of a term."""
        return float(self._highest[term])


class _Query:
    """The terms of a query and their lists, the shortest first.

    Where `sums` is passed it has a zero for each passage, and again afterwards.
    """

    def __init__(self, index: Searcher, terms: list[int]) -> None:
        times = Counter(terms)
        self._terms = terms
        self._postings = {term: index.postings(term) for term in times}
        order = sorted(times, key=lambda term: len(self._postings[term][0]))
        self._lists = [(*self._postings[term], np.float32(times[term])) for term in order]
        highest = [index.highest(term) * times[term] for term in order]
        # What the lists from number i on can add at most.
        self._rest = [sum(highest[i:]) for i in range(len(order) + 1)]
        self._slack = _ROUNDING * (len(terms) + 1)

    def best(self, top: int, sums: NDArray[np.float32]) -> Found:
        """At most `top` passages and scores, best first; equal scores in corpus order."""
        if sum(len(passages) for passages, _, _ in self._lists) <= _FEW:
            passages, scores = self._all(top, sums)
        else:
            passages = self._running(top, sums)
            scores = self._anew(passages)
        order = np.argsort(-scores, kind="stable")[:top]
        return passages[order], scores[order]

    def _all(self, top: int, sums: NDArray[np.float32]) -> Found:
        """All lists added up, in the query's order; fewer where they cannot be among the best."""
        for term in self._terms:
            np.add.at(sums, *self._postings[term])
        seen = np.concatenate([passages for passages, _, _ in self._lists])
        best = _distinct(seen[_leading(sums.take(seen), top * len(self._lists))])
        scores = sums.take(best)
        sums[seen] = 0
        return best, scores

    def _anew(self, passages: NDArray[np.int32]) -> NDArray[np.float32]:
        """The scores of these passages, added up in the query's order."""
        looked = {term: _looked_up(found, passages) for term, found in self._postings.items()}
        scores = np.zeros(len(passages), np.float32)
        for term in self._terms:
            scores += looked[term]
        return scores

    def _running(self, top: int, sums: NDArray[np.float32]) -> NDArray[np.int32]:
        """Passages that may be among the `top` best; none is left out that is."""
        used, least, seen, partial = self._seen(top, sums)
        for number in range(used, len(self._lists) + 1):
            if len(seen) > top:
                least = max(least, _least(partial, top))
                kept = partial >= self._sure(least) - self._rest[number]
                seen, partial = seen[kept], partial[kept]
            if number < len(self._lists):
                passages, scores, times = self._lists[number]
                if len(passages) > _PER_SEARCH * len(seen):
                    partial += _looked_up((passages, scores), seen) * times
                else:
                    sums[passages] = scores
                    partial += sums.take(seen) * times
                    sums[passages] = 0
        return seen

    def _seen(
        self, top: int, sums: NDArray[np.float32]
    ) -> tuple[int, float, NDArray[np.int32], NDArray[np.float32]]:
        """Add up lists until no passage outside them can be among the best.

        (how many lists, what the `top`-th best score is at least, passages, their sums.)
        """
        least, bar = 0.0, 0.0
        for number, (passages, scores, times) in enumerate(self._lists, 1):
            np.add.at(sums, passages, scores * times if times > 1 else scores)
            last = number == len(self._lists)
            # To add up a short list takes less time than to ask whether it is needed.
            if last or len(self._lists[number][0]) > _SHORT:
                seen = np.concatenate([passages for passages, _, _ in self._lists[:number]])
                partial = sums.take(seen)
                least = self._reached(seen, partial, number, top, sums)
                bar = self._sure(least) - self._rest[number]
                if last or bar > 0:
                    break
        kept = _distinct(seen[partial >= bar])
        partial = sums.take(kept)
        sums[seen] = 0
        return number, least, kept, partial

    def _reached(
        self,
        seen: NDArray[np.int32],
        partial: NDArray[np.float32],
        used: int,
        top: int,
        sums: NDArray[np.float32],
    ) -> float:
        """What the `top`-th best score is at least: that of the leaders so far, added up wholly."""
        # Each passage stands there once for each list that it is in.
        leaders = _distinct(seen[_leading(partial, top * used)[: 4 * top * used]])
        if len(leaders) < top:
            return 0.0
        whole = sums.take(leaders)
        for passages, scores, times in self._lists[used:]:
            whole += _looked_up((passages, scores), leaders) * times
        return float(np.partition(whole, -top)[-top])

    def _sure(self, least: float) -> float:
        """What a sum surely is in any order of its additions."""
        return least * (1 - self._slack)


class _Terms:
    """The terms of an index in the order of their letters, read from its vocabulary one by one."""

    def __init__(self, folder: Path) -> None:
        self._offsets, self._sorted = _mapped(folder / OFFSETS), _mapped(folder / SORTED)
        with (folder / VOCABULARY).open("rb") as file:
            self._text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def __len__(self) -> int:
        return len(self._sorted)

    def __getitem__(self, place: int) -> bytes:
        start = int(self._offsets[self._sorted[place]]) + 1
        return self._text[start : self._text.find(b'"', start)]

    def number(self, term: str) -> int | None:
        """The number of a term; None where no passage has it."""
        # UTF-8 has the order of the characters.
        wanted = term.encode()
        place = bisect_left(self, wanted)
        return int(self._sorted[place]) if place < len(self) and self[place] == wanted else None


def _mapped(path: Path) -> NDArray[Any]:
    # Plain arrays: each slice of np.memmap costs microseconds.
    return np.asarray(np.load(path, mmap_mode="r"))


def _looked_up(postings: Found, wanted: NDArray[np.int32]) -> NDArray[np.float32]:
    """The score of each wanted passage in a list; 0 where it is not there."""
    passages, scores = postings
    at = np.searchsorted(passages, wanted)
    at[at == len(passages)] = 0
    found = scores.take(at)
    found[passages.take(at) != wanted] = 0
    return found


def _distinct(passages: NDArray[np.int32]) -> NDArray[np.int32]:
    """Each of them once, ascending. Sorts in place."""
    passages.sort()
    return passages[np.diff(passages, prepend=np.int32(-1)) > 0]


def _leading(values: NDArray[np.float32], count: int) -> NDArray[np.intp]:
    """Where the `count` highest values stand, and those equal to the lowest of them."""
    if len(values) <= count:
        return np.arange(len(values))
    return np.flatnonzero(values >= _least(values, count))


def _least(values: NDArray[np.float32], count: int) -> float:
    """The `count`-th highest of at least so many values."""
    if len(values) > 64 * count:
        # Most values need not be sorted: as many parts have one of at least `bound`.
        width = len(values) // (16 * count)
        whole = len(values) - len(values) % width
        bound = np.partition(values[:whole].reshape(-1, width).max(axis=1), -count)[-count]
        values = values[values >= bound]
    return float(np.partition(values, -count)[-count])
