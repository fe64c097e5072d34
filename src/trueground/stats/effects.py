"""How large a paired difference is, without a unit, and the interval of each such size.

Every size is of b against a. Intervals are percentile bootstraps over items or clusters
(`bootstrap.drawn_interval` says where there is none); that of the odds ratio is exact, on the share
c / (b + c), with clusters on the number of items that would vary as much by themselves.

Ranking every resample anew for the rank-biserial correlation would take a sort for each. Instead it
is counted how often each size of difference is drawn, and ranks come from running sums. Where there
are more than `MOST_SIZES` different sizes, those that are close in rank are taken as equal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueground.stats.bootstrap import (
    Floats,
    Ints,
    drawn_interval,
    resampled_counts,
    resampled_means,
)
from trueground.stats.correlation import average_ranks
from trueground.stats.paired import differences, signed_rank
from trueground.stats.proportions import share_interval

MOST_SIZES = 512
_COLUMNS = 250  # resamples that are ranked together
_METRICS = 12  # metrics that share their draws: about 100 MB of counts


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
    clusters: Ints | None = None,
    *,
    binary: Sequence[bool],
    resamples: int = 2_000,
    seed: int = 0,
    level: float = 0.95,
) -> list[Effects]:
    """The effects of each column, both of shape (n, metrics); `binary` tells which hold 0 and 1."""
    if not len(a):
        none = Effect(None, None, "no item is scored in both")
        return [Effects(none, none, none, *([none if flag else None] * 2)) for flag in binary]
    results: list[Effects] = []
    for low in range(0, a.shape[1], _METRICS):
        part = slice(low, low + _METRICS)
        x, y = a[:, part], b[:, part]
        d = differences(x, y)
        shift = d - d.mean(axis=0)  # squares of the shifted differences lose no digits
        higher, lower = (d > 0).astype(np.float64), (d < 0).astype(np.float64)
        table = np.concatenate([d, shift, shift**2, higher, lower, x, y], axis=1)
        means = resampled_means(table, clusters, resamples=resamples, seed=seed)
        draws = means.reshape(7, d.shape[1], resamples)
        ranks = _resampled_rank_biserial(d, clusters, resamples, seed)
        results += [
            Effects(
                cohen_dz=_cohen_dz(d[:, i], draws[:, i], level),
                rank_biserial=_rank_biserial(d[:, i], ranks[i], level),
                superiority=_superiority(d[:, i], draws[:, i], level),
                cohen_h=_cohen_h(x[:, i], y[:, i], draws[:, i], level) if flag else None,
                odds_ratio=_odds_ratio(d[:, i], clusters, level) if flag else None,
            )
            for i, flag in enumerate(binary[part])
        ]
    return results


def _cohen_dz(d: Floats, draws: Floats, level: float) -> Effect:
    n = len(d)
    if n < 2:
        return Effect(None, None, "fewer than two items")
    if (d == d[0]).all():
        return Effect(None, None, "the difference is the same for every item")
    sd = float(d.std(ddof=1))
    variance = draws[2] - draws[1] ** 2
    # What is left of a resample that drew one value only is noise.
    sure = np.where(variance > 1e-12 * sd**2, variance, np.nan)
    resampled = np.asarray(draws[0] / np.sqrt(sure) * math.sqrt((n - 1) / n), np.float64)
    return Effect(float(d.mean()) / sd, *drawn_interval(resampled, level))


def _rank_biserial(d: Floats, draws: Floats, level: float) -> Effect:
    ranks = signed_rank(d)
    if not ranks.n:
        return Effect(None, None, "no item differs")
    value = (ranks.plus - ranks.minus) / (ranks.plus + ranks.minus)
    return Effect(value, *drawn_interval(draws, level))


def _superiority(d: Floats, draws: Floats, level: float) -> Effect:
    share = (int((d > 0).sum() - (d < 0).sum()) / len(d) + 1) / 2
    return Effect(share, *drawn_interval((draws[3] - draws[4] + 1) / 2, level))


def _cohen_h(a: Floats, b: Floats, draws: Floats, level: float) -> Effect:
    def h(p_a: Floats, p_b: Floats) -> Floats:
        angle_a, angle_b = (np.arcsin(np.sqrt(np.clip(p, 0, 1))) for p in (p_a, p_b))
        return np.asarray(2 * angle_b - 2 * angle_a, np.float64)

    value = float(h(np.asarray(a.mean()), np.asarray(b.mean())))
    return Effect(value, *drawn_interval(h(draws[5], draws[6]), level))


def _odds_ratio(d: Floats, clusters: Ints | None, level: float) -> Effect:
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


def _resampled_rank_biserial(d: Floats, clusters: Ints | None, resamples: int, seed: int) -> Floats:
    """The correlation in each resample, shape (metrics, resamples); NaN where no item differs.

    `d` (items, metrics) are rounded differences. NaN throughout with one item (cluster). An item
    drawn w times stands for w equal items: with t items of a size, and C of smaller ones, their
    rank is C + (t + 1) / 2.
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
            plus, minus = part[:many], part[many:]
            both = plus + minus
            rank = np.cumsum(both, axis=0) - both + (both + 1) / 2
            total = (both * rank).sum(axis=0)
            signed = ((plus - minus) * rank).sum(axis=0)
            np.divide(signed, total, out=drawn[i, low : low + _COLUMNS], where=total > 0)
    return drawn


def _sizes(absolute: Floats) -> tuple[int, Ints]:
    """How many different sizes there are, at most MOST_SIZES, and which each item has."""
    distinct, place = np.unique(absolute, return_inverse=True)
    if len(distinct) > MOST_SIZES:
        ranks = average_ranks(absolute)
        return MOST_SIZES, ((ranks - 0.5) * MOST_SIZES / len(absolute)).astype(np.int64)
    return len(distinct), place.astype(np.int64)
