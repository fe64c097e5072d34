"""Resamples of units as weights, and statistics weighed in all of them, a block at a time.

The draws of a group of resamples depend on the seed, the number of units and the number of the
group only: not on the statistics, the blocks or the threads. Columns that are weighed together thus
share their resamples, and so do all calls with the same units and seed.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueground.stats.bootstrap import Floats, Ints
from trueground.stats.human.column import LabelledScores

GROUP = 8
_CELLS = 1 << 18  # weights of a block that stay in the cache of a core
_WORTH_THREADS = 1 << 21
Counts = NDArray[np.int32]


class DrawCounts(NamedTuple):
    """How often each unit was drawn, shape (resamples, units); sums of whole numbers are faster."""

    counts: Counts
    floats: Floats

    @classmethod
    def of(cls, counts: NDArray[Any]) -> DrawCounts:
        """Both forms."""
        return cls(counts.astype(np.int32), counts.astype(np.float64))

    @classmethod
    def once(cls, units: int) -> DrawCounts:
        """The sample itself, shape (1, units)."""
        return cls.of(np.ones((1, units)))

    def __len__(self) -> int:
        return len(self.counts)


class Scratch:
    """Intermediate arrays of one thread, by name, used again from block to block.

    Fresh arrays of this size come from the system page by page, which costs more than the
    arithmetic.
    """

    def __init__(self) -> None:
        self._buffers: dict[tuple[str, type], NDArray[Any]] = {}

    def empty(self, name: str, rows: int, size: int, dtype: type = np.float64) -> NDArray[Any]:
        """An array (rows, size) of no set content; the next call with this name overwrites it."""
        flat = self._buffers.get((name, dtype))
        if flat is None or flat.size < rows * size:
            flat = self._buffers[name, dtype] = np.empty(rows * size, dtype)
        return flat[: rows * size].reshape(rows, size)

    def take(self, name: str, values: NDArray[Any], index: Ints) -> NDArray[Any]:
        """values[:, index], shape (rows, len(index)), in the array of this name."""
        out = self.empty(name, len(values), len(index), values.dtype.type)
        return np.take(values, index, axis=1, out=out, mode="clip") if len(index) else out

    def cumulate(self, name: str, counts: Counts) -> Counts:
        """The sums of none, of the first, of the first two … of a row, shape (rows, size + 1)."""
        out = self.empty(name, len(counts), counts.shape[1] + 1, np.int32)
        out[:, 0] = 0
        np.cumsum(counts, axis=1, out=out[:, 1:])
        return out

    def floats(self, name: str, values: NDArray[Any]) -> Floats:
        """The values as floating-point numbers, in the array of this name."""
        out = self.empty(name, *values.shape)
        out[...] = values
        return out


# From a column, weights and scratch arrays to each statistic, shape (resamples,).
Weigh = Callable[[LabelledScores, DrawCounts, Scratch], dict[str, Floats]]


def dot_rows(a: NDArray[Any], b: NDArray[Any]) -> Floats:
    """The scalar product of each row of `a` with that of `b`, shape (rows,)."""
    return np.asarray(np.einsum("ij,ij->i", a, b), np.float64)


def ratio(a: Floats, b: Floats) -> Floats:
    """a / b, shape (k,); NaN where b is not above 0."""
    out: Floats = np.full(np.shape(b), np.nan)
    np.divide(a, b, out=out, where=b > 0)
    return out


def group_weights(units: int, group: int, seed: int) -> Counts:
    """How often each unit was drawn in the resamples of a group, shape (GROUP, units)."""
    random = np.random.Generator(np.random.SFC64([seed, group]))
    draws = random.integers(0, units, (GROUP, units))
    counts = np.empty((GROUP, units), np.int32)
    for row, drawn in zip(counts, draws, strict=True):
        row[:] = np.bincount(drawn, minlength=units)
    return counts


def weigh_once(weigh: Weigh, column: LabelledScores, units: int) -> dict[str, Floats]:
    """Each statistic of the sample itself, shape (1,)."""
    return weigh(column, DrawCounts.once(units), Scratch())


def resample(
    weigh: Weigh,
    columns: Sequence[LabelledScores],
    units: int,
    *,
    resamples: int,
    seed: int,
    workers: int | None = None,
) -> list[dict[str, Floats]]:
    """Each statistic of each column in each resample, shape (resamples,).

    `workers` threads share the resamples; by default as many as there are cores.
    """
    names = [list(weigh_once(weigh, one, units)) for one in columns]
    results = [{name: np.full(resamples, np.nan) for name in some} for some in names]
    if not units or not resamples:
        return results
    longest = max((one.n for one in columns), default=0)
    rows = max(1, _CELLS // max(longest, units))
    groups = max(1, rows // GROUP)
    local = threading.local()

    def weigh_block(first: int) -> None:
        scratch = local.__dict__.setdefault("scratch", Scratch())
        last = min(first + groups, -(-resamples // GROUP))
        parts = [group_weights(units, number, seed) for number in range(first, last)]
        weights = np.concatenate(parts)[: resamples - first * GROUP]
        for low in range(0, len(weights), rows):
            some = DrawCounts.of(weights[low : low + rows])
            here = slice(first * GROUP + low, first * GROUP + low + len(some))
            for one, own in zip(columns, results, strict=True):
                for name, values in weigh(one, some, scratch).items():
                    own[name][here] = values

    blocks = range(0, -(-resamples // GROUP), groups)
    threads = workers or _cores()
    if threads == 1 or longest * resamples * len(columns) < _WORTH_THREADS:
        for first in blocks:
            weigh_block(first)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(weigh_block, blocks))
    return results


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
