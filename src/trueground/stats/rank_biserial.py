"""The rank-biserial correlation of paired differences in bootstrap resamples.

Ranking every resample anew would take a sort for each. Instead it is counted how often each size of
difference is drawn, and ranks come from running sums. Where there are more than `MOST_SIZES`
different sizes, those that are close in rank are taken as equal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueground.stats.bootstrap import Floats, resampled_counts
from trueground.stats.correlation import average_ranks

MOST_SIZES = 512
_COLUMNS = 250  # resamples at a time


def drawn_rank_biserial(
    d: Floats, clusters: NDArray[np.int64] | None, resamples: int, seed: int
) -> Floats:
    """The correlation in each resample, shape (metrics, resamples); NaN where no item differs.

    `d` (items, metrics) are differences, rounded so that noise makes none. NaN throughout with one
    item (cluster). An item drawn w times stands for w equal items: with t items of a size, and C of
    smaller ones, their rank is C + (t + 1) / 2.
    """
    drawn = np.full((d.shape[1], resamples), np.nan)
    if len(d if clusters is None else np.unique(clusters)) < 2:
        return drawn
    sizes, size = zip(*(_sizes(np.abs(column)) for column in d.T), strict=True)
    # The rows of the count, for each metric: sizes of positive differences, then of negative ones.
    starts = np.concatenate([[0], 2 * np.cumsum(sizes)])
    kinds = np.stack(size, axis=1) + starts[:-1] + np.where(d > 0, 0, sizes)
    counts = resampled_counts(
        np.where(d == 0, -1, kinds), int(starts[-1]), clusters, resamples=resamples, seed=seed
    )
    for i, (start, many) in enumerate(zip(starts[:-1], sizes, strict=True)):
        for low in range(0, resamples, _COLUMNS):
            part = counts[start : start + 2 * many, low : low + _COLUMNS].astype(np.float64)
            drawn[i, low : low + _COLUMNS] = _correlation(part[:many], part[many:])
    return drawn


def _correlation(plus: Floats, minus: Floats) -> Floats:
    """From how many positive and negative differences of each size there are, (sizes, n)."""
    both = plus + minus
    rank = np.cumsum(both, axis=0) - both + (both + 1) / 2
    total = (both * rank).sum(axis=0)
    signed = ((plus - minus) * rank).sum(axis=0)
    found: Floats = np.full(len(total), np.nan)
    np.divide(signed, total, out=found, where=total > 0)
    return found


def _sizes(absolute: Floats) -> tuple[int, NDArray[np.int64]]:
    """How many different sizes there are, at most MOST_SIZES, and which each item has."""
    distinct, place = np.unique(absolute, return_inverse=True)
    if len(distinct) > MOST_SIZES:
        ranks = average_ranks(absolute)
        return MOST_SIZES, ((ranks - 0.5) * MOST_SIZES / len(absolute)).astype(np.int64)
    return len(distinct), place.astype(np.int64)
