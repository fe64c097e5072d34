"""Pearson and Spearman correlation of pairs with bootstrap intervals.

They are not scipy's: loading scipy.stats takes longer than these take to run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueground.stats.bootstrap import Floats, Interval, Ints, percentiles

LEAST = 3  # two points always lie on a line


@dataclass(frozen=True)
class Correlation:
    """A coefficient from -1 to 1 over `n` pairs, with its interval, or `why` there is none."""

    value: float | None
    ci: Interval | None
    ci_level: float
    n: int
    why: str | None = None


def average_ranks(values: Sequence[float] | Floats) -> Floats:
    """Ranks from 1 in rising order, shape (n,); equal values share the mean of their places."""
    _, place, counts = np.unique(
        np.asarray(values, np.float64), return_inverse=True, return_counts=True
    )
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[place], np.float64)


def pearson(x: Sequence[float] | Floats, y: Sequence[float] | Floats) -> float | None:
    """The linear correlation of two equally long samples; None where either is constant.

    Raises ValueError where they are not equally long.
    """
    a, b = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if len(a) != len(b):
        raise ValueError(f"{len(a)} and {len(b)} numbers are no pairs")
    if len(a) < 2:
        return None
    value = float(_pearson(a[None, :], b[None, :])[0])
    return None if np.isnan(value) else value


def spearman(x: Sequence[float] | Floats, y: Sequence[float] | Floats) -> float | None:
    """The correlation of average ranks; None where either sample is constant."""
    return pearson(average_ranks(x), average_ranks(y))


def correlation(
    x: Sequence[float],
    y: Sequence[float],
    *,
    ranked: bool = False,
    resamples: int = 2_000,
    seed: int = 0,
    level: float = 0.95,
) -> Correlation:
    """Pearson's, or with `ranked` Spearman's, coefficient of the pairs with its interval.

    A percentile bootstrap over the pairs, the same for both; resamples in which one side is
    constant are left out. Numbers that differ beyond the twelfth decimal only are equal: means
    carry such noise.
    """
    a: Floats = np.asarray(x, np.float64).round(12)
    b: Floats = np.asarray(y, np.float64).round(12)
    n = len(a)
    if n < LEAST:
        return Correlation(None, None, level, n, f"{n} of at least {LEAST} pairs")
    value = (spearman if ranked else pearson)(a, b)
    if value is None:
        side = "first" if (a == a[0]).all() else "second"
        return Correlation(None, None, level, n, f"the {side} score is the same for all")
    draws = np.random.Generator(np.random.PCG64(seed)).integers(0, n, (resamples, n))
    drawn_a, drawn_b = (_drawn_ranks(x, draws) if ranked else x[draws] for x in (a, b))
    return Correlation(value, percentiles(_pearson(drawn_a, drawn_b), level), level, n)


def _drawn_ranks(values: Floats, draws: Ints) -> Floats:
    """Average ranks within each resample, shape (resamples, n), from counts of each value."""
    distinct, code = np.unique(values, return_inverse=True)
    cells = code[draws] + len(distinct) * np.arange(len(draws))[:, None]
    counts = np.bincount(cells.ravel(), minlength=len(draws) * len(distinct))
    counts = counts.reshape(len(draws), len(distinct))
    ranks = np.cumsum(counts, axis=1) - (counts - 1) / 2
    return np.asarray(ranks.ravel()[cells], np.float64)


def _pearson(a: Floats, b: Floats) -> Floats:
    """The coefficient of each row with its partner, shape (rows,); NaN where one is constant."""
    flat = (a == a[:, :1]).all(axis=1) | (b == b[:, :1]).all(axis=1)
    a, b = _centred(a), _centred(b)
    size = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    size[flat] = np.nan
    return np.asarray(np.clip((a * b).sum(axis=1) / size, -1.0, 1.0), np.float64)


def _centred(rows: Floats) -> Floats:
    """Scaled to a largest deviation of 1, so that squares neither overflow nor vanish."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    largest = np.abs(centred).max(axis=1, keepdims=True)
    return np.asarray(centred / np.where(largest > 0, largest, 1.0), np.float64)
