"""Resamples of units as weights, and statistics weighed in all of them, a block at a time.

The draws of a group of resamples depend on the seed, the number of units and the number of the
group only: not on the statistics, the blocks or the threads. What is weighed together thus
shares its resamples, and so do all calls with the same units and seed.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from trueground.stats.human.scratch import Counts, Scratch, Weights
from trueground.stats.human.types import Floats

# From weights and room to each statistic, shape (resamples,).
Weighed = Callable[[Weights, Scratch], dict[str, Floats]]

GROUP = 8
_CELLS = 1 << 18  # weights of a block that stay in the cache of a core
_WORTH_THREADS = 1 << 21


def group_weights(units: int, group: int, seed: int) -> Counts:
    """How often each unit was drawn in the resamples of a group, shape (GROUP, units)."""
    random = np.random.Generator(np.random.SFC64([seed, group]))
    draws = random.integers(0, units, (GROUP, units))
    counts = np.empty((GROUP, units), np.int32)
    for row, drawn in zip(counts, draws, strict=True):
        row[:] = np.bincount(drawn, minlength=units)
    return counts


def resampled(
    weighed: Sequence[Weighed],
    units: int,
    *,
    longest: int,
    resamples: int,
    seed: int,
    workers: int | None = None,
) -> list[dict[str, Floats]]:
    """Each statistic of each of `weighed` in each resample, shape (resamples,).

    `longest` is the number of items that one of them goes through: it settles the size of a block.
    `workers` threads share the resamples; by default as many as there are cores.
    """
    names = [list(each(Weights.once(units), Scratch())) for each in weighed]
    found = [{name: np.full(resamples, np.nan) for name in some} for some in names]
    if not units or not resamples:
        return found
    rows = max(1, _CELLS // max(longest, units))
    groups = max(1, rows // GROUP)

    local = threading.local()

    def block(first: int) -> None:
        scratch = local.__dict__.setdefault("scratch", Scratch())
        last = min(first + groups, -(-resamples // GROUP))
        parts = [group_weights(units, number, seed) for number in range(first, last)]
        weights = np.concatenate(parts)[: resamples - first * GROUP]
        for low in range(0, len(weights), rows):
            some = Weights.of(weights[low : low + rows])
            here = slice(first * GROUP + low, first * GROUP + low + len(some))
            for each, room in zip(weighed, found, strict=True):
                for name, values in each(some, scratch).items():
                    room[name][here] = values

    blocks = range(0, -(-resamples // GROUP), groups)
    threads = workers or _cores()
    if threads == 1 or longest * resamples * len(weighed) < _WORTH_THREADS:
        for first in blocks:
            block(first)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(block, blocks))
    return found


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
