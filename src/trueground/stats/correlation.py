"""Pearson, Spearman and Kendall correlation of pairs; bootstrap intervals over the pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trueground.stats.bootstrap import percentiles

Floats = NDArray[np.float64]

LEAST = 3  # two points always lie on a line


@dataclass(frozen=True)
class Correlation:
    """A coefficient from -1 to 1 over `n` pairs, with its interval.

    `value` is None where there is none, and `why` says why; `ci` is None also where too few
    resamples have a coefficient.
    """

    value: float | None
    ci: tuple[float, float] | None
    ci_level: float
    n: int
    why: str | None = None


def average_ranks(values: Sequence[float] | Floats) -> Floats:
    """Ranks from 1 in rising order, shape (n,); equal values share the mean of their places."""
    ranks: Floats = _ranks(np.asarray(values, np.float64)[None, :])[0]
    return ranks


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


def kendall(x: Sequence[float] | Floats, y: Sequence[float] | Floats) -> float | None:
    """Kendall's τ-b: concordant less discordant pairs, over those that do not tie.

    (C - D) / √((n₀ - n₁)(n₀ - n₂)) with n₀ = n(n - 1)/2 and n₁, n₂ the pairs that tie in x and in y
    (Kendall 1945). None where either sample is constant. Raises ValueError where the samples are
    not equally long. Takes n · log² n steps.
    """
    a, b = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if len(a) != len(b):
        raise ValueError(f"{len(a)} and {len(b)} numbers are no pairs")
    order = np.lexsort((b, a))  # by x, and by y within equal x: such pairs are no inversions
    a, b = a[order], b[order]
    pairs = len(a) * (len(a) - 1) // 2
    in_a, in_b = _tied(a), _tied(np.sort(b))
    if in_a == pairs or in_b == pairs:
        return None
    both = _tied(a * 0, (a[1:] != a[:-1]) | (b[1:] != b[:-1]))
    # Pairs that tie in neither are concordant or, where y is inverted, discordant.
    difference = pairs - in_a - in_b + both - 2 * _inversions(b)
    value = difference / np.sqrt(float(pairs - in_a) * float(pairs - in_b))
    return float(np.clip(value, -1.0, 1.0))


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

    The interval is a percentile bootstrap over the pairs; resamples in which one side is constant
    have no coefficient and are left out. The same seed draws the same pairs for both coefficients.
    Numbers that differ beyond the twelfth decimal only are equal: means carry such noise.
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
    drawn = a[draws], b[draws]
    found = _pearson(*(map(_ranks, drawn) if ranked else drawn))
    return Correlation(value, percentiles(found, level), level, n)


def _tied(ordered: Floats, changes: NDArray[np.bool_] | None = None) -> int:
    """Pairs of equal values; `changes` (n - 1,) says where a new value begins."""
    if changes is None:
        changes = ordered[1:] != ordered[:-1]
    runs = np.diff(np.flatnonzero(np.concatenate(([True], changes, [True]))))
    return int((runs * (runs - 1) // 2).sum())


def _inversions(values: Floats) -> int:
    """Pairs of which the first is greater, counted while the values are merged in order."""
    merged, found, width = values.copy(), 0, 1
    while width < len(merged):
        for start in range(0, len(merged) - width, 2 * width):
            left = merged[start : start + width]
            right = merged[start + width : start + 2 * width]
            found += len(left) * len(right) - int(np.searchsorted(left, right, "right").sum())
            merged[start : start + 2 * width] = np.sort(merged[start : start + 2 * width])
        width *= 2
    return found


def _ranks(rows: Floats) -> Floats:
    """Average ranks within each row, shape (rows, n)."""
    order = np.argsort(rows, axis=1, kind="stable")
    ordered = np.take_along_axis(rows, order, axis=1)
    places = np.arange(1, rows.shape[1] + 1)
    starts = np.diff(ordered, axis=1, prepend=np.nan) != 0
    ends = np.diff(ordered, axis=1, append=np.nan) != 0
    first = np.maximum.accumulate(np.where(starts, places, 0), axis=1)
    after = np.where(ends, places, places[-1] if len(places) else 0)[:, ::-1]
    last = np.minimum.accumulate(after, axis=1)[:, ::-1]
    ranks = np.empty(rows.shape)
    np.put_along_axis(ranks, order, (first + last) / 2, axis=1)
    return ranks


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
