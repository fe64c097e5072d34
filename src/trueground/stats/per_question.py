"""The answers to each question, gathered out of the answers of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trueground.stats.bootstrap import Floats, Table

VERDICT_AT = 0.5  # a value above it is a yes
_ROWS = 65_536


@dataclass(frozen=True)
class PerQuestion:
    """What the answers to each question come to, arrays of shape (questions, metrics).

    `scored` counts the answers with a value, `asked` (questions,) all answers. `means` is NaN
    without a value, `variances` (of a sample) below two. `above` counts values above 0.5. `low` and
    `high` (metrics,) are the ends of all values, `whole` (metrics,) tells whether all are 0 or 1.
    """

    asked: NDArray[np.int64]
    scored: NDArray[np.int64]
    means: Floats
    variances: Floats
    above: NDArray[np.int64]
    low: Floats
    high: Floats
    whole: NDArray[np.bool_]

    @property
    def flips(self) -> Floats:
        """1 where answers lie on both sides of 0.5, 0 where not, NaN below two values."""
        both = (self.above > 0) & (self.above < self.scored)
        return np.where(self.scored > 1, both.astype(np.float64), np.nan)

    @property
    def differ(self) -> Floats:
        """The share of pairs of answers that lie on two sides of 0.5; NaN below two values."""
        pairs = self.scored * (self.scored - 1) / 2
        apart = (self.above * (self.scored - self.above)).astype(np.float64)
        return np.divide(apart, pairs, out=np.full_like(apart, np.nan), where=pairs > 0)

    @property
    def has_verdicts(self) -> NDArray[np.bool_]:
        """The metrics (metrics,) whose values all lie in 0 to 1: 0.5 means something there."""
        return (self.low >= 0) & (self.high <= 1)


def per_question(
    values: Table, questions: NDArray[np.int64], count: int, columns: Sequence[int]
) -> PerQuestion:
    """Gather the answers to each question.

    `values` has shape (items, metrics), NaN where an item is not scored; `questions` (items,) holds
    the number of each item's question, below `count`; `columns` are the metrics wanted. Reads the
    values twice, in blocks: a sum of squares alone would lose digits.
    """
    columns = list(columns)
    shape = (count, len(columns))
    scored, above = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    sums, squares = np.zeros(shape), np.zeros(shape)
    low, high = np.full(len(columns), np.inf), np.full(len(columns), -np.inf)
    whole = np.ones(len(columns), np.bool_)
    for codes, block in _blocks(values, questions, columns):
        known = ~np.isnan(block)
        scored += _added(codes, known, count).astype(np.int64)
        above += _added(codes, block > VERDICT_AT, count).astype(np.int64)
        sums += _added(codes, np.where(known, block, 0.0), count)
        low = np.fmin(low, np.fmin.reduce(block, axis=0, initial=np.inf))
        high = np.fmax(high, np.fmax.reduce(block, axis=0, initial=-np.inf))
        whole &= ((block == 0) | (block == 1) | ~known).all(axis=0)
    means = np.divide(sums, scored, out=np.full(shape, np.nan), where=scored > 0)
    for codes, block in _blocks(values, questions, columns):
        squares += _added(codes, np.nan_to_num((block - means[codes]) ** 2), count)
    variances = np.divide(squares, scored - 1, out=np.full(shape, np.nan), where=scored > 1)
    asked = np.bincount(questions, minlength=count)
    return PerQuestion(asked, scored, means, variances, above, low, high, whole)


def _blocks(
    values: Table, questions: NDArray[np.int64], columns: list[int]
) -> Iterator[tuple[NDArray[np.int64], Floats]]:
    for start in range(0, len(values), _ROWS):
        part = slice(start, start + _ROWS)
        yield questions[part], np.asarray(values[part])[:, columns]


def _added(codes: NDArray[np.int64], block: NDArray[np.generic], count: int) -> Floats:
    """Sums of each column over the rows of each question, shape (questions, metrics)."""
    found = [np.bincount(codes, weights=column, minlength=count) for column in block.T]
    return np.stack(found, axis=1) if found else np.zeros((count, 0))
