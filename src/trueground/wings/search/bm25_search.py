"""Searching a memory-mapped BM25 index."""

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
    Ints,
    ScoredPassages,
    map_array,
)
from trueground.wings.search.search_words import stemmer, words

_NOTHING: ScoredPassages = (np.empty(0, np.int32), np.empty(0, np.float32))
_MAX_POSTINGS_TO_SUM = 100_000  # Up to this number, all lists are summed without pruning.
_MAX_SHORT_LIST = 4_096  # Summing so few postings is faster than checking if they are needed.
_POSTINGS_PER_LOOKUP = 25  # Postings that are read in the time of one binary search.
# An upper bound of the relative difference between float32 sums in different orders, per addition.
_ROUNDING = 1 / (1 << 22)


class Searcher:
    """A memory-mapped index."""

    def __init__(self, folder: Path, passages: int, stem: bool) -> None:
        """Map the files. Raises OSError or ValueError if they are missing or damaged."""
        self._key, self._size = stemmer(stem), passages
        self._starts, self.highest = map_array(folder / STARTS), map_array(folder / HIGHEST)
        self._passages, self._scores = map_array(folder / PASSAGES), map_array(folder / SCORES)
        self._ends, self._numbers = map_array(folder / ENDS), map_array(folder / NUMBERS)
        with (folder / TERMS).open("rb") as file:
            self._text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def __call__(self, task: tuple[Sequence[str], int]) -> list[ScoredPassages]:
        """Search for (queries, top): passages and scores of each query, best first."""
        queries, top = task
        sums = np.zeros(self._size, np.float32)
        term_numbers: dict[str, int | None] = {}
        results = []
        for query in queries:
            terms = []
            for word in words(query):
                if word not in term_numbers:
                    term_numbers[word] = self._number(self._key(word))
                number = term_numbers[word]
                if number is not None:
                    terms.append(number)
            results.append(_Query(self, terms).best(top, sums) if terms and top > 0 else _NOTHING)
        return results

    def postings(self, term: int) -> ScoredPassages:
        """Return the passages with a term, in corpus order, and its score in each."""
        low, high = self._starts[term : term + 2].tolist()
        return self._passages[low:high], self._scores[low:high]

    def _number(self, term: str) -> int | None:
        """Return the number of a term, None if no passage has it."""

        def read(line: int) -> bytes:
            return self._text[self._ends[line - 1] + 1 if line else 0 : self._ends[line]]

        encoded = term.encode()  # UTF-8 bytes sort like the characters.
        line = bisect_left(range(len(self._numbers)), encoded, key=read)
        if line < len(self._numbers) and read(line) == encoded:
            return int(self._numbers[line])
        return None


class _Query:
    """The terms of a query and their posting lists, shortest first.

    `sums` in its methods has a zero for each passage, before and after a call.
    """

    def __init__(self, index: Searcher, terms: list[int]) -> None:
        counts = Counter(terms)
        self._terms = terms
        self._postings = {term: index.postings(term) for term in counts}
        order = sorted(counts, key=lambda term: len(self._postings[term][0]))
        self._lists = [(*self._postings[term], np.float32(counts[term])) for term in order]
        highest = [float(index.highest[term]) * counts[term] for term in order]
        # The maximum that the lists from number i on can add to a score.
        self._max_rest = [math.fsum(highest[i:]) for i in range(len(order) + 1)]
        # A sum in another order is at least this share of a sum.
        self._rounding_share = 1 - _ROUNDING * (len(terms) + 1)

    def best(self, top: int, sums: NDArray[np.float32]) -> ScoredPassages:
        """Return at most `top` passages and scores, best first; equal scores in corpus order."""
        if sum(len(passages) for passages, _, _ in self._lists) <= _MAX_POSTINGS_TO_SUM:
            passages, scores = self._sum_all(top, sums)
        else:
            passages = self._find_candidates(top, sums)
            term_scores = {
                term: _look_up(postings, passages) for term, postings in self._postings.items()
            }
            scores = np.zeros(len(passages), np.float32)
            for term in self._terms:
                scores += term_scores[term]
        order = np.argsort(-scores, kind="stable")[:top]
        return passages[order], scores[order]

    def _sum_all(self, top: int, sums: NDArray[np.float32]) -> ScoredPassages:
        """Sum all lists in the query's order, and return the passages that may be the best."""
        for term in self._terms:
            np.add.at(sums, *self._postings[term])
        seen = np.concatenate([passages for passages, _, _ in self._lists])
        best = _distinct(seen[_leading(sums.take(seen), top * len(self._lists))])
        scores = sums.take(best)
        sums[seen] = 0
        return best, scores

    def _find_candidates(self, top: int, sums: NDArray[np.float32]) -> Ints:
        """Return passages that include the `top` best; lists are read one after the other."""
        used, least, seen, partial = self._seen(top, sums)
        for number in range(used, len(self._lists) + 1):
            if len(seen) > top:
                least = max(least, _least(partial, top))
                kept = partial >= self._rounding_share * least - self._max_rest[number]
                seen, partial = seen[kept], partial[kept]
            if number < len(self._lists):
                passages, scores, count = self._lists[number]
                if len(passages) > _POSTINGS_PER_LOOKUP * len(seen):
                    partial += _look_up((passages, scores), seen) * count
                else:
                    sums[passages] = scores
                    partial += sums.take(seen) * count
                    sums[passages] = 0
        return seen

    def _seen(
        self, top: int, sums: NDArray[np.float32]
    ) -> tuple[int, float, Ints, NDArray[np.float32]]:
        """Sum lists until no passage outside them can be among the best.

        Returns the number of lists, a lower bound of the `top`-th best score, passages, and their
        sums.
        """
        least, min_sum = 0.0, 0.0
        for number, (passages, scores, count) in enumerate(self._lists, 1):
            np.add.at(sums, passages, scores * count if count > 1 else scores)
            last = number == len(self._lists)
            # Summing a short list is faster than checking whether it is needed.
            if last or len(self._lists[number][0]) > _MAX_SHORT_LIST:
                seen = np.concatenate([passages for passages, _, _ in self._lists[:number]])
                partial = sums.take(seen)
                least = self._reached(seen, partial, number, top, sums)
                min_sum = self._rounding_share * least - self._max_rest[number]
                if last or min_sum > 0:
                    break
        candidates = _distinct(seen[partial >= min_sum])
        partial = sums.take(candidates)
        sums[seen] = 0
        return number, least, candidates, partial

    def _reached(
        self,
        seen: Ints,
        partial: NDArray[np.float32],
        used: int,
        top: int,
        sums: NDArray[np.float32],
    ) -> float:
        """Return a lower bound of the `top`-th best score: complete scores of the best so far."""
        # `seen` has a passage once for each of its lists.
        leaders = _distinct(seen[_leading(partial, top * used)[: 4 * top * used]])
        if len(leaders) < top:
            return 0.0
        sums_of_leaders = sums.take(leaders)
        for passages, scores, count in self._lists[used:]:
            sums_of_leaders += _look_up((passages, scores), leaders) * count
        return float(np.partition(sums_of_leaders, -top)[-top])


def _look_up(postings: ScoredPassages, requested: Ints) -> NDArray[np.float32]:
    """Return the score of each requested passage in a list, 0 if the list doesn't have it."""
    passages, scores = postings
    indices = np.searchsorted(passages, requested)
    indices[indices == len(passages)] = 0
    requested_scores = scores.take(indices)
    requested_scores[passages.take(indices) != requested] = 0
    return requested_scores


def _distinct(passages: Ints) -> Ints:
    """Return the distinct passages, ascending. Sorts in place."""
    passages.sort()
    return passages[np.diff(passages, prepend=np.int32(-1)) > 0]


def _leading(values: NDArray[np.float32], count: int) -> NDArray[np.intp]:
    """Return the indices of the `count` highest values, and of those equal to the lowest."""
    if len(values) <= count:
        return np.arange(len(values))
    return np.flatnonzero(values >= _least(values, count))


def _least(values: NDArray[np.float32], count: int) -> float:
    """Return the `count`-th highest value; there are at least `count` values."""
    if len(values) > 64 * count:
        # Only values of at least `bound` have to be sorted: `count` parts have such a value.
        width = len(values) // (16 * count)
        even = len(values) - len(values) % width
        bound = np.partition(values[:even].reshape(-1, width).max(axis=1), -count)[-count]
        values = values[values >= bound]
    return float(np.partition(values, -count)[-count])
