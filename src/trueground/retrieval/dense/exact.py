"""Exact search among vectors: the greatest inner products, in an order that nothing disturbs.

Products are made in float32, block by block; what may be among the best is compared in float64,
each vector by itself. So neither other queries, nor blocks, nor threads change a hit.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueground.encoders.base import Floats
from trueground.retrieval.base import Hit

# Rows of float32 or float16, in memory or mapped from a file.
Vectors = NDArray[Any]
Numbers = NDArray[np.intp]
_ROUNDING = 2.0**-24  # of one float32 operation, relative


class _Candidates(NamedTuple):
    """Passages that may be among the best, with their scores in float32."""

    numbers: list[Numbers]
    scores: list[Floats]


def slack(asked: Floats, longest: float) -> Floats:
    """By how much two products in float32 may be out of order, for each query.

    The error of a sum of d products is at most about d · 2^-24 · |q| · |v|, whatever its order;
    `longest` is the greatest |v|.
    """
    lengths = np.linalg.norm(asked.astype(np.float64), axis=1)
    width = asked.shape[1] + 2
    return np.asarray(2.2 * width * _ROUNDING * lengths * longest, dtype=np.float32)


def nearest(
    vectors: Vectors, asked: Floats, top: int, margin: Floats, block: int, threads: int = 1
) -> Iterator[list[Hit]]:
    """For each query the `top` hits, best first; equal scores in the vectors' order.

    `margin`: see `slack`, shape (queries,). `block`: vectors whose products are in memory at once,
    for each thread.
    """
    blocks = -(-len(vectors) // block)
    share = block * max(1, -(-blocks // threads))
    starts = range(0, len(vectors), share)

    def look(start: int) -> list[_Candidates]:
        return _candidates(vectors[start : start + share], start, asked, top, margin, block)

    if len(starts) == 1:
        parts = [look(0)]
    else:
        with ThreadPoolExecutor(threads, thread_name_prefix="trueground-search") as pool:
            parts = list(pool.map(look, starts))
    for place, query in enumerate(asked):
        scores = np.concatenate([scores for part in parts for scores in part[place].scores])
        numbers = np.concatenate([found for part in parts for found in part[place].numbers])
        if len(scores) > top:
            least = np.partition(scores, -top)[-top] - margin[place]
            numbers = numbers[scores >= least]
        yield exactly(vectors, numbers, query, top)


def exactly(vectors: Vectors, found: Numbers, query: Floats, top: int) -> list[Hit]:
    """The best of `found` (ascending). Each row is summed by itself, whatever stands beside it."""
    scores = (vectors[found].astype(np.float64) * query).sum(axis=1)
    order = np.argsort(-scores, kind="stable")[:top]
    return [Hit(int(found[i]), float(scores[i])) for i in order]


def _candidates(
    vectors: Vectors, first: int, asked: Floats, top: int, margin: Floats, block: int
) -> list[_Candidates]:
    """For each query those of these vectors that may be among its best; they begin at `first`."""
    best = np.full((len(asked), top), -np.inf, np.float32)
    maybe = [_Candidates([], []) for _ in asked]
    for start in range(0, len(vectors), block):
        scores = asked @ np.asarray(vectors[start : start + block], dtype=np.float32).T
        rows = np.flatnonzero(scores.max(axis=1) >= best.min(axis=1) - margin)
        if len(rows) < len(scores):
            scores = scores[rows]
        joined = np.hstack((best[rows], scores))
        best[rows] = np.partition(joined, -top, axis=1)[:, -top:]
        enough = best[rows].min(axis=1) - margin[rows]
        for place, row, least in zip(rows, scores, enough, strict=True):
            found = np.flatnonzero(row >= least)
            maybe[place].numbers.append(found + (first + start))
            maybe[place].scores.append(row[found])
    return maybe
