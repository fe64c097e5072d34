"""How large a paired difference is, without a unit, and the interval of each such size.

Every size is of b against a. Intervals are percentile bootstraps over items or clusters; that of
the odds ratio is exact (Clopper and Pearson 1934, on the share c / (b + c)) where there are no
clusters. There is no interval where more resamples than one of its tails holds have no value, as
with a handful of items.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trueground.stats.bootstrap import (
    Floats,
    Interval,
    percentiles,
    resampled_means,
)
from trueground.stats.quantiles import beta_quantile
from trueground.stats.rank_biserial import drawn_rank_biserial
from trueground.stats.signed_rank import signed_rank

_AT_ONCE = 12  # metrics that share their draws: about 100 MB of counts
_DECIMALS = 12
_NO_ITEMS = "no item is scored in both"
Clusters = NDArray[np.int64] | None


@dataclass(frozen=True)
class Effect:
    """One size of an effect; None with `why` where it is not defined.

    An end of the interval that has no bound is None.
    """

    value: float | None
    ci: tuple[float | None, float | None] | None = None
    why: str | None = None


@dataclass(frozen=True)
class Effects:
    """The sizes that a metric has; the last two are None unless all values are 0 or 1.

    `cohen_dz`: mean of the differences over their standard deviation (Cohen 1988).
    `rank_biserial`: matched pairs, (W₊ − W₋) / (W₊ + W₋), from −1 to 1 (Kerby 2014); differences of
    0 play no part. `superiority`: the share of items that are higher in b, ties counted half.
    `cohen_h`: 2 asin √p_b − 2 asin √p_a. `odds_ratio`: c / b, items that are 1 in b only over those
    that are 1 in a only.
    """

    cohen_dz: Effect
    rank_biserial: Effect
    superiority: Effect
    cohen_h: Effect | None
    odds_ratio: Effect | None


def effects(
    a: Floats,
    b: Floats,
    clusters: Clusters = None,
    *,
    binary: bool = False,
    resamples: int = 2_000,
    seed: int = 0,
    level: float = 0.95,
) -> Effects:
    """All sizes of b − a, both of shape (n,), finite, rows in the same order."""
    given = {"resamples": resamples, "seed": seed}
    (found,) = effects_of(a[:, None], b[:, None], clusters, binary=[binary], level=level, **given)
    return found


def effects_of(
    a: Floats,
    b: Floats,
    clusters: Clusters = None,
    *,
    binary: Sequence[bool],
    resamples: int = 2_000,
    seed: int = 0,
    level: float = 0.95,
) -> list[Effects]:
    """The same of each column, both of shape (n, metrics); `binary` tells which hold 0 and 1."""
    found: list[Effects] = []
    for low in range(0, a.shape[1], _AT_ONCE):
        part = slice(low, low + _AT_ONCE)
        found += _together(a[:, part], b[:, part], clusters, binary[part], resamples, seed, level)
    return found


def _together(
    a: Floats,
    b: Floats,
    clusters: Clusters,
    binary: Sequence[bool],
    resamples: int,
    seed: int,
    level: float,
) -> list[Effects]:
    if not len(a):
        none = Effect(None, None, _NO_ITEMS)
        return [Effects(none, none, none, *([none if flag else None] * 2)) for flag in binary]
    d = np.round(b - a, _DECIMALS)
    shift = d - d.mean(axis=0)  # squares of the shifted differences lose no digits
    higher, lower = (d > 0).astype(np.float64), (d < 0).astype(np.float64)
    table = np.concatenate([d, shift, shift**2, higher, lower, a, b], axis=1)
    means = resampled_means(table, clusters, resamples=resamples, seed=seed)
    draws = means.reshape(7, len(binary), resamples)
    ranks = drawn_rank_biserial(d, clusters, resamples, seed)
    return [
        _effects(a[:, i], b[:, i], d[:, i], draws[:, i], ranks[i], clusters, flag, level)
        for i, flag in enumerate(binary)
    ]


def _effects(
    a: Floats,
    b: Floats,
    d: Floats,
    draws: Floats,
    ranks: Floats,
    clusters: Clusters,
    binary: bool,
    level: float,
) -> Effects:
    """Of one metric; `draws` (7, resamples) are means of the columns of the table."""

    def drawn(of: Callable[[Floats], Floats]) -> Interval | None:
        with np.errstate(divide="ignore", invalid="ignore"):
            found = of(draws)
        return _interval(found, level)

    higher, lower = int((d > 0).sum()), int((d < 0).sum())
    share = ((higher - lower) / len(d) + 1) / 2
    h = odds = None
    if binary:
        h = Effect(_h(a.mean(), b.mean()), drawn(lambda m: _h_of(m[5], m[6])))
        odds = _odds_ratio(lower, higher, clusters, draws, level)
    return Effects(
        _cohen_dz(d, drawn),
        _rank_biserial(d, ranks, level),
        Effect(share, drawn(lambda m: (m[3] - m[4] + 1) / 2)),
        h,
        odds,
    )


def _interval(drawn: Floats, level: float) -> Interval | None:
    """None where so many resamples have no value that the others are a choice among them."""
    known = np.isfinite(drawn)
    if (~known).mean() > (1 - level) / 2:
        return None
    return percentiles(np.where(known, drawn, np.nan), level)


def _cohen_dz(d: Floats, drawn: Callable[[Callable[[Floats], Floats]], Interval | None]) -> Effect:
    n = len(d)
    if n < 2:
        return Effect(None, None, "fewer than two items")
    sd = float(d.std(ddof=1))
    if (d == d[0]).all():
        return Effect(None, None, "the difference is the same for every item")
    shrink = math.sqrt((n - 1) / n)

    def of(m: Floats) -> Floats:
        variance = m[2] - m[1] ** 2
        # What is left of a resample that drew one value only is noise.
        sure = np.where(variance > 1e-12 * sd**2, variance, np.nan)
        return np.asarray(m[0] / np.sqrt(sure) * shrink, np.float64)

    return Effect(float(d.mean()) / sd, drawn(of))


def _h(a: float, b: float) -> float:
    return 2 * math.asin(math.sqrt(min(b, 1.0))) - 2 * math.asin(math.sqrt(min(a, 1.0)))


def _h_of(a: Floats, b: Floats) -> Floats:
    angle_a, angle_b = (np.arcsin(np.sqrt(np.clip(x, 0, 1))) for x in (a, b))
    return np.asarray(2 * angle_b - 2 * angle_a, np.float64)


def _odds_ratio(b: int, c: int, clusters: Clusters, draws: Floats, level: float) -> Effect:
    """c / b; its interval is that of c / (b + c), which lies between 0 and 1, turned into odds."""
    if not b + c:
        return Effect(None, None, "no item differs")
    value = c / b if b else None
    why = None if b else "no item is 1 in the first run only, so the ratio has no upper bound"
    if clusters is None:
        share: Interval | None = clopper_pearson(c, b + c, level)
    else:
        with np.errstate(invalid="ignore"):
            share = _interval(draws[3] / (draws[3] + draws[4]), level)
    ends = None if share is None else (_odds(share[0]), _odds(share[1]))
    return Effect(value, ends, why)


def _odds(share: float) -> float | None:
    return None if share >= 1 else share / (1 - share)


def clopper_pearson(k: int, n: int, level: float = 0.95) -> Interval:
    """The exact interval of a share of k in n, n above 0."""
    tail = (1 - level) / 2
    low = beta_quantile(k, n - k + 1, tail) if k else 0.0
    high = beta_quantile(k + 1, n - k, 1 - tail) if k < n else 1.0
    return low, high


def _rank_biserial(d: Floats, drawn: Floats, level: float) -> Effect:
    found = signed_rank(d)
    if not found.n:
        return Effect(None, None, "no item differs")
    value = (found.plus - found.minus) / (found.plus + found.minus)
    return Effect(value, _interval(drawn, level))
