"""Percentile bootstrap intervals of means, for all metrics at once.

Each item (or cluster of items) gets a random weight per resample; the mean of a resample is the
weighted sum of the scored values over the sum of the weights of the scored items. Small samples are
resampled exactly (multinomial weights). Large ones use independent Poisson(1) weights, which need
only one pass over the values and no memory that grows with their number (Chamandy et al. 2012,
"Estimating uncertainty for massive data streams"). The weights of a block of items depend on the
seed and the number of the block only, so the result does not depend on how the work was cut.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from trueground.stats.arithmetic.sums import (
    count_product,
    exact_product,
    group_counts,
    group_totals,
    mean,
    sum_counts,
    total,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Interval = tuple[float, float]
EXACT_UP_TO = 2_000
_BLOCK = 256
# What the weights of a block add up to at most: that many units have a Poisson weight of 8, and of
# EXACT_UP_TO units as many are drawn.
_MOST_WEIGHT = max(8 * _BLOCK, EXACT_UP_TO)
# The 16-bit numbers from which on a Poisson(1) weight is 1, 2, … 8, by inversion: P(weight < k) is
# at most (step + 1/2) / 2¹⁶.
_COMMON = 5
_POISSON_STEPS = (24109, 48219, 60273, 64292, 65296, 65497, 65531, 65535)
_STRIDE = 1_000_003
_NOISE = 1e-12

ALIKE = "no interval: every resample gives the same"
UNDEFINED = "no interval: too few items to resample"


class NumberTable(Protocol):
    """The interface of a table of numbers (items, metrics), in memory or on disk."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(items, metrics)."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any, /) -> NDArray[Any]:
        """The rows of a slice or of row numbers."""
        ...


@dataclass(frozen=True)
class Bootstrap:
    """A percentile bootstrap over items.

    Attributes:
        resamples: Number of resamples.
        seed: Their seed.
        level: Confidence level of intervals.
    """

    resamples: int = 2_000
    seed: int = 0
    level: float = 0.95

    def of_stratum(self, number: int) -> Bootstrap:
        """Return the bootstrap of one stratum: its resamples differ from those of all others."""
        return replace(self, seed=self.seed + (number + 1) * _STRIDE)

    def means(
        self, values: NumberTable, clusters: Ints | None = None, rows: Ints | None = None
    ) -> Floats:
        """Return the mean of each column in each resample, shape (metrics, resamples).

        NaN if a resample has no scored item, and in a column with fewer than two of them.

        Args:
            values: Shape (items, metrics). NaN marks an item without a score. It is resampled, too.
            clusters: The cluster of each item, shape (items,). Clusters are resampled as a whole.
            rows: The items to resample. Default: all.
        """
        return resampled_means(values, clusters, rows, resamples=self.resamples, seed=self.seed)

    def intervals(
        self, values: NumberTable, clusters: Ints | None = None, rows: Ints | None = None
    ) -> list[Interval | None]:
        """Return an interval for the mean of each column of `values`; arguments as in `means`.

        None for fewer than two scored items or clusters.
        """
        return [self.interval(column) for column in self.means(values, clusters, rows)]

    def interval(self, draws: Floats) -> Interval | None:
        """Return the interval of resampled numbers, shape (resamples,); None if all are NaN."""
        return percentiles(draws, self.level)

    def varying_interval(self, draws: Floats) -> Interval | None:
        """Return the interval; None also if all numbers are alike: there are too few items."""
        return varying_interval(draws, self.level)


def resampled_means(
    values: NumberTable,
    clusters: Ints | None = None,
    rows: Ints | None = None,
    *,
    resamples: int = 2_000,
    seed: int = 0,
) -> Floats:
    """The mean of each column in each resample, shape (metrics, resamples); see `Bootstrap`.

    NaN where a resample met no scored item, and throughout a column with fewer than two of them.
    """
    units, sources = _units(values, clusters, rows)
    totals = np.zeros((values.shape[1], resamples))
    weight = np.zeros((values.shape[1], resamples))
    scored_units = np.zeros(values.shape[1], np.int64)
    weights = _weights(units, resamples, seed)
    for sums, counts in sources:
        w = next(weights)
        totals += exact_product(sums.T, w, _MOST_WEIGHT)
        weight += _shared_product(w, counts)
        scored_units += sum_counts(counts > 0, axis=0)
    usable = (weight > 0) & (scored_units >= 2)[:, None]
    return np.divide(totals, weight, out=np.full_like(totals, np.nan), where=usable)


def resampled_counts(
    rows: Ints, width: int, clusters: Ints | None = None, *, resamples: int = 2_000, seed: int = 0
) -> NDArray[np.float32]:
    """How often each kind of item is drawn in each resample, shape (width, resamples).

    `rows` (items, n) names the kinds of each item, from 0; -1 is counted nowhere, but takes part in
    the resampling. The draws are those of `resampled_means` with the same `clusters` and seed.
    """
    units = np.arange(len(rows))
    if clusters is not None:
        units = np.unique(clusters, return_inverse=True)[1]
    size = int(units.max()) + 1 if len(units) else 0
    known = rows >= 0
    kinds, holders = rows[known], np.broadcast_to(units[:, None], rows.shape)[known]
    order = np.lexsort((kinds, holders // _BLOCK))  # by block, and by kind within a block
    kinds, holders = kinds[order], holders[order]
    counts = np.zeros((width, resamples), np.float32)
    weights = _weights(size, resamples, seed)
    for low in range(0, size, _BLOCK):
        w = next(weights)
        first, end = np.searchsorted(holders // _BLOCK, [low // _BLOCK, low // _BLOCK + 1])
        for part in range(first, end, _BLOCK):  # a cluster may have any number of items
            own = slice(part, min(part + _BLOCK, end))
            starts = np.flatnonzero(np.diff(kinds[own], prepend=-1))
            sums = group_counts(w[holders[own] - low], starts)
            counts[kinds[own][starts]] += sums
    return counts


def percentiles(means: Floats, level: float) -> Interval | None:
    """The interval of resampled means; None where there are none."""
    known = ~np.isnan(means)
    if not known.any():
        return None
    tail = 100 * (1 - level) / 2
    # Sorting may put 0 or -0 first; adding 0 makes them one.
    low, high = np.percentile(means[known], [tail, 100 - tail]) + 0.0
    return float(low), float(high)


def drawn_interval(draws: Floats, level: float) -> tuple[Interval | None, str | None]:
    """The percentile interval of `draws` (resamples,), else None and the reason.

    One of no width would claim certainty; and where more draws than one tail holds have no value,
    the others are a choice among them.
    """
    known = draws[np.isfinite(draws)]
    if len(draws) - len(known) > len(draws) * (1 - level) / 2:
        return None, UNDEFINED
    if all_alike(known):
        return None, ALIKE
    return percentiles(known, level), None


def all_alike(draws: Floats) -> bool:
    """Whether all numbers among these are equal up to rounding; False where there is none."""
    known = draws[np.isfinite(draws)]
    return bool(len(known)) and bool(np.ptp(known) <= _NOISE * max(1.0, float(abs(known[0]))))


def varying_interval(draws: Floats, level: float) -> Interval | None:
    """The percentile interval; None where all draws are the same, which tells of too few items."""
    return None if all_alike(draws) else percentiles(draws, level)


def ratio(a: Floats | float, b: Floats | Ints | float) -> Floats:
    """a / b, of one shape; NaN where b is not above 0."""
    out: Floats = np.full(np.broadcast(a, b).shape, np.nan)
    np.divide(a, b, out=out, where=np.asarray(b) > 0)
    return out


def sum_clusters(values: Floats, clusters: Ints | None) -> Floats:
    """The sum of each cluster's values (n,); without clusters the values themselves."""
    if clusters is None:
        return values
    codes = np.unique(clusters, return_inverse=True)[1]
    return np.bincount(codes, weights=values).astype(np.float64)


def variance_of_mean(values: Floats, clusters: Ints | None) -> float | None:
    """The squared standard error of a mean, s² / n; of clusters from their sums of deviations.

    Cameron & Miller 2015, section II.A. None below two of them.
    """
    sums = sum_clusters(values - mean(values), clusters)
    if len(sums) < 2:
        return None
    n = len(values)
    return total(sums * sums) / (n * n) * len(sums) / (len(sums) - 1)


def _units(
    values: NumberTable, clusters: Ints | None, rows: Ints | None
) -> tuple[int, Iterator[tuple[Floats, Floats]]]:
    """Number of units, their sums and counts of scored values: one block at a time is in memory."""
    if clusters is None:
        count = len(values) if rows is None else len(rows)
        cuts = [*range(0, count, _BLOCK), count]
        order, starts = rows, None
    else:
        rows = np.arange(len(values)) if rows is None else rows
        own = np.asarray(clusters[rows])
        by_cluster = np.argsort(own, kind="stable")
        order = rows[by_cluster]
        starts = np.flatnonzero(np.diff(own[by_cluster], prepend=own[by_cluster[:1]] - 1))
        count = len(starts)
        starts = np.append(starts, len(order))
        cuts = [*starts[:-1:_BLOCK].tolist(), len(order)]

    def blocks() -> Iterator[tuple[Floats, Floats]]:
        for number, (low, high) in enumerate(itertools.pairwise(cuts)):
            block = np.asarray(values[low:high] if order is None else values[order[low:high]])
            scored = ~np.isnan(block)
            sums, counts = np.where(scored, block, 0.0), scored.astype(np.float64)
            if starts is not None:
                firsts = starts[:-1][number * _BLOCK : (number + 1) * _BLOCK] - low
                sums, counts = group_totals(sums, firsts), group_counts(counts, firsts)
            yield sums, counts

    return count, blocks()


def _shared_product(w: Floats, counts: Floats) -> Floats:
    """counts.T @ w, where columns that are the same (most often all of them) are done once."""
    first: dict[bytes, int] = {}
    codes = [first.setdefault(column.tobytes(), len(first)) for column in counts.T]
    firsts = [codes.index(code) for code in range(len(first))]
    return count_product(counts[:, firsts].T, w)[codes]


def _weights(units: int, resamples: int, seed: int) -> Iterator[Floats]:
    """Weights of the units, shape (block, resamples), block after block."""
    if units <= EXACT_UP_TO:
        exact = _multinomial(units, resamples, seed)
        for low in range(0, units, _BLOCK):
            yield exact[low : low + _BLOCK]
        return
    steps = np.array(_POISSON_STEPS, np.uint16)
    first, *common = _POISSON_STEPS[:_COMMON]
    buffer = np.empty((_BLOCK, resamples))  # one block of weights, reused
    whole, reached = np.empty((2, _BLOCK, resamples), np.uint8)
    for number, low in enumerate(range(0, units, _BLOCK)):
        size = min(_BLOCK, units - low)
        raw = np.random.SFC64([seed, number]).random_raw(-(-size * resamples // 4))
        draws = raw.view(np.uint16)[: size * resamples].reshape(size, resamples)
        # Comparing is quicker than looking each number up in a table, and 5 or more is rare.
        np.greater_equal(draws, np.uint16(first), out=whole[:size].view(np.bool_))
        for step in common:
            np.greater_equal(draws, np.uint16(step), out=reached[:size].view(np.bool_))
            whole[:size] += reached[:size]
        rare = np.flatnonzero(reached[:size].view(np.bool_))
        whole[:size].reshape(-1)[rare] = np.searchsorted(steps, draws.reshape(-1)[rare], "right")
        buffer[:size] = whole[:size]
        yield buffer[:size]


def _multinomial(units: int, resamples: int, seed: int) -> Floats:
    random = np.random.Generator(np.random.SFC64([seed, 0]))
    draws = random.integers(0, units, (resamples, units))
    draws += np.arange(resamples)[:, None] * units
    counts = np.bincount(draws.ravel(), minlength=resamples * units)
    return np.ascontiguousarray(counts.reshape(resamples, units).T, np.float64)
