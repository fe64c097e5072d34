"""Search a BM25 index, memory-mapped."""

from __future__ import annotations

import math
import mmap
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trueground.wings.search.bm25_index import (
    ENDS,
    HIGHEST,
    NUMBERS,
    PASSAGES,
    SCORES,
    STARTS,
    TERMS,
    Found,
    Ints,
    map_array,
)
from trueground.wings.search.search_words import stemmer, words

_NOTHING: Found = (np.empty(0, np.int32), np.empty(0, np.float32))
_FEW = 100_000  # postings that are added up without any thought
_SHORT = 4_096
_PER_SEARCH = 25  # postings that are read in the time of one binary search
# Of float32, generously: how far sums in another order can be apart, for each addition.
_ROUNDING = 1 / (1 << 22)


class Searcher:
    """One index, memory-mapped."""

    def __init__(self, folder: Path, passages: int, stem: bool) -> None:
        """OSError and ValueError where files are missing or are no arrays; MissingExtraError."""
        self._key, self._size = stemmer(stem), passages
        self._starts, self.highest = map_array(folder / STARTS), map_array(folder / HIGHEST)
        self._passages, self._scores = map_array(folder / PASSAGES), map_array(folder / SCORES)
        self._ends, self._numbers = map_array(folder / ENDS), map_array(folder / NUMBERS)
        with (folder / TERMS).open("rb") as file:
            self._text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def __call__(self, asked: tuple[Sequence[str], int]) -> list[Found]:
        """For each of (queries, top) passages and scores, best first; equal ones in their order."""
        queries, top = asked
        sums = np.zeros(self._size, np.float32)
        known: dict[str, int | None] = {}
        found = []
        for query in queries:
            terms = []
            for word in words(query):
                if word not in known:
                    known[word] = self._number(self._key(word))
                if (number := known[word]) is not None:
                    terms.append(number)
            found.append(_Query(self, terms).best(top, sums) if terms and top > 0 else _NOTHING)
        return found

    def postings(self, term: int) -> Found:
        """Which passages have a term, in corpus order, and its score in each."""
        low, high = self._starts[term : term + 2].tolist()
        return self._passages[low:high], self._scores[low:high]

    def _number(self, term: str) -> int | None:
        """The number of a term; None where no passage has it."""

        def read(place: int) -> bytes:
            return self._text[self._ends[place - 1] + 1 if place else 0 : self._ends[place]]

        wanted = term.encode()  # UTF-8 has the order of the characters
        place = bisect_left(range(len(self._numbers)), wanted, key=read)
        there = place < len(self._numbers) and read(place) == wanted
        return int(self._numbers[place]) if there else None


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
        highest = [float(index.highest[term]) * times[term] for term in order]
        # What the lists from number i on can add at most.
        self._rest = [math.fsum(highest[i:]) for i in range(len(order) + 1)]
        # Below this share of it a sum is not, in whatever order it is added up.
        self._sure = 1 - _ROUNDING * (len(terms) + 1)

    def best(self, top: int, sums: NDArray[np.float32]) -> Found:
        """At most `top` passages and scores, best first; equal scores in corpus order."""
        if sum(len(passages) for passages, _, _ in self._lists) <= _FEW:
            passages, scores = self._all(top, sums)
        else:
            passages = self._running(top, sums)
            looked = {term: _look_up(found, passages) for term, found in self._postings.items()}
            scores = np.zeros(len(passages), np.float32)
            for term in self._terms:
                scores += looked[term]
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

    def _running(self, top: int, sums: NDArray[np.float32]) -> Ints:
        used, least, seen, partial = self._seen(top, sums)
        for number in range(used, len(self._lists) + 1):
            if len(seen) > top:
                least = max(least, _least(partial, top))
                stays = partial >= self._sure * least - self._rest[number]
                seen, partial = seen[stays], partial[stays]
            if number < len(self._lists):
                passages, scores, times = self._lists[number]
                if len(passages) > _PER_SEARCH * len(seen):
                    partial += _look_up((passages, scores), seen) * times
                else:
                    sums[passages] = scores
                    partial += sums.take(seen) * times
                    sums[passages] = 0
        return seen

    def _seen(
        self, top: int, sums: NDArray[np.float32]
    ) -> tuple[int, float, Ints, NDArray[np.float32]]:
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
                bar = self._sure * least - self._rest[number]
                if last or bar > 0:
                    break
        some = _distinct(seen[partial >= bar])
        partial = sums.take(some)
        sums[seen] = 0
        return number, least, some, partial

    def _reached(
        self,
        seen: Ints,
        partial: NDArray[np.float32],
        used: int,
        top: int,
        sums: NDArray[np.float32],
    ) -> float:
        """What the `top`-th best score is at least: the leaders so far, fully added up."""
        # Each passage stands there once for each list that it is in.
        leaders = _distinct(seen[_leading(partial, top * used)[: 4 * top * used]])
        if len(leaders) < top:
            return 0.0
        scores = sums.take(leaders)
        for passages, some, times in self._lists[used:]:
            scores += _look_up((passages, some), leaders) * times
        return float(np.partition(scores, -top)[-top])


def _look_up(postings: Found, wanted: Ints) -> NDArray[np.float32]:
    """The score of each wanted passage in a list; 0 where it is not there."""
    passages, scores = postings
    at = np.searchsorted(passages, wanted)
    at[at == len(passages)] = 0
    found = scores.take(at)
    found[passages.take(at) != wanted] = 0
    return found


def _distinct(passages: Ints) -> Ints:
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
        even = len(values) - len(values) % width
        bound = np.partition(values[:even].reshape(-1, width).max(axis=1), -count)[-count]
        values = values[values >= bound]
    return float(np.partition(values, -count)[-count])
