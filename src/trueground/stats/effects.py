"""How large a paired difference is, without a unit, and the interval of each such size.

Every size is of b against a. Intervals are percentile bootstraps over items or clusters
(`stats.drawn` says where there is none); that of the odds ratio is exact, on the share c / (b + c),
with clusters on the number of items that would vary as much by themselves (`stats.share`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trueground.stats.bootstrap import Floats, resampled_means
from trueground.stats.differences import differences
from trueground.stats.drawn import drawn_interval
from trueground.stats.rank_biserial import drawn_rank_biserial
from trueground.stats.share import share_interval
from trueground.stats.signed_rank import signed_rank

_AT_ONCE = 12  # metrics that share their draws: about 100 MB of counts
_NO_ITEMS = "no item is scored in both"
Clusters = NDArray[np.int64] | None


@dataclass(frozen=True)
class Effect:
    """One size of an effect; `why` tells why it has no value, or no interval.

    The lower end of an interval is a number. An upper end of None has no bound, and a value of None
    with an interval is an odds ratio without bound, which `why` says.
    """

    value: float | None
    ci: tuple[float, float | None] | None = None
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
    d = differences(a, b)
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

    def drawn(value: float, of: Callable[[Floats], Floats]) -> Effect:
        with np.errstate(divide="ignore", invalid="ignore"):
            found = of(draws)
        return Effect(value, *drawn_interval(found, level))

    higher, lower = int((d > 0).sum()), int((d < 0).sum())
    share = ((higher - lower) / len(d) + 1) / 2
    h = odds = None
    if binary:
        h = drawn(_h(a.mean(), b.mean()), lambda m: _h_of(m[5], m[6]))
        odds = _odds_ratio(d, clusters, level)
    return Effects(
        _cohen_dz(d, drawn),
        _rank_biserial(d, ranks, level),
        drawn(share, lambda m: (m[3] - m[4] + 1) / 2),
        h,
        odds,
    )


def _cohen_dz(d: Floats, drawn: Callable[[float, Callable[[Floats], Floats]], Effect]) -> Effect:
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

    return drawn(float(d.mean()) / sd, of)


def _h(a: float, b: float) -> float:
    return 2 * math.asin(math.sqrt(min(b, 1.0))) - 2 * math.asin(math.sqrt(min(a, 1.0)))


def _h_of(a: Floats, b: Floats) -> Floats:
    angle_a, angle_b = (np.arcsin(np.sqrt(np.clip(x, 0, 1))) for x in (a, b))
    return np.asarray(2 * angle_b - 2 * angle_a, np.float64)


def _odds_ratio(d: Floats, clusters: Clusters, level: float) -> Effect:
    """c / b; its interval is that of c / (b + c), which lies between 0 and 1, turned into odds."""
    changed = d != 0
    c, b = int((d > 0).sum()), int((d < 0).sum())
    if not b + c:
        return Effect(None, None, "no item differs")
    share = share_interval(
        d[changed] > 0, None if clusters is None else clusters[changed], level=level
    )
    ends = None if share is None else (_odds(share[0]) or 0.0, _odds(share[1]))
    why = [] if b else ["no item is 1 in the first run only, so the ratio has no upper bound"]
    why += ["all items that differ are in one group"] * (ends is None)
    return Effect(c / b if b else None, ends, "; ".join(why) or None)


def _odds(share: float) -> float | None:
    return None if share >= 1 else share / (1 - share)


def _rank_biserial(d: Floats, drawn: Floats, level: float) -> Effect:
    found = signed_rank(d)
    if not found.n:
        return Effect(None, None, "no item differs")
    value = (found.plus - found.minus) / (found.plus + found.minus)
    return Effect(value, *drawn_interval(drawn, level))
