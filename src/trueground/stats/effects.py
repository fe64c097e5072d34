"""How large a paired difference is, and how small a one these items, or how many items, can show.

Every size of an effect is of b against a, without a unit. Its interval is a percentile bootstrap
over items or clusters (`bootstrap.drawn_interval` says where there is none); that of the odds ratio
is exact, on the share c / (b + c), with clusters on the number of items that would vary as much by
themselves.

Ranking every resample anew for the rank-biserial correlation would take a sort for each. Instead it
is counted how often each size of difference is drawn, and ranks come from running sums. Where there
are more than `MOST_SIZES` different sizes, those that are close in rank are taken as equal.

Planning is by plain formulas, for a two-sided test at `alpha` that finds a true difference with
probability `power`. Means: δ = (t₁₋α⸝₂ + t_power) · SE with SE = s · √(design effect / n), s the
standard deviation of the differences (Cohen 1988, section 2.3; quantiles of Student's t with
units − 1 degrees of freedom). McNemar: n = (z₁₋α⸝₂ √ψ + z_power √(ψ − δ²))² / δ², ψ the share of
items that differ (Miettinen 1968; Connor 1987). The design effect says how many times wider
clusters make the variance of the mean than independent items would (Kish 1965). All take what was
observed (s, ψ, cluster sizes) as what the next items will be like.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueground.stats.agreement import average_ranks
from trueground.stats.arithmetic.arrays import arcsin
from trueground.stats.arithmetic.distributions import normal_quantile, t_quantile as quantile_of_t
from trueground.stats.arithmetic.sums import (
    mean,
    standard_deviation,
    sum_counts,
    total,
    variance,
)
from trueground.stats.bootstrap import (
    Floats,
    Ints,
    drawn_interval,
    resampled_counts,
    resampled_means,
    variance_of_mean,
)
from trueground.stats.paired_tests import MCNEMAR, Paired, SignedRank, signed_rank
from trueground.stats.rates import share_interval

MOST_SIZES = 512
_COLUMNS = 250  # resamples that are ranked together
_METRICS = 12  # metrics that share their draws: about 100 MB of counts


@dataclass(frozen=True)
class Effect:
    """One size of an effect; `why` tells why it has no value, or no interval.

    An upper end of None has no bound; a value of None with an interval is an odds ratio without
    one.
    """

    value: float | None
    ci: tuple[float, float | None] | None = None
    why: str | None = None


@dataclass(frozen=True)
class Effects:
    """The sizes that a metric has; the last two are None unless all values are 0 or 1.

    `cohen_dz`: mean of the differences over their standard deviation (Cohen 1988). `rank_biserial`:
    (W₊ − W₋) / (W₊ + W₋), from −1 to 1 (Kerby 2014). `superiority`: the share of items that are
    higher in b, ties counted half. `cohen_h`: 2 asin √p_b − 2 asin √p_a. `odds_ratio`: c / b, items
    that are 1 in b only over those that are 1 in a only.
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
        d = Paired.differences(x, y)
        shift = d - mean(d, axis=0)  # squares of the shifted differences lose no digits
        higher, lower = (d > 0).astype(np.float64), (d < 0).astype(np.float64)
        table = np.concatenate([d, shift, shift * shift, higher, lower, x, y], axis=1)
        draws = resampled_means(table, clusters, resamples=resamples, seed=seed)
        draws = draws.reshape(7, d.shape[1], resamples)
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
    sd = standard_deviation(d, ddof=1)
    spread = draws[2] - draws[1] * draws[1]
    # What is left of a resample that drew one value only is noise.
    sure = np.where(spread > 1e-12 * sd * sd, spread, np.nan)
    resampled = np.asarray(draws[0] / np.sqrt(sure) * math.sqrt((n - 1) / n), np.float64)
    return Effect(mean(d) / sd, *drawn_interval(resampled, level))


def _rank_biserial(d: Floats, draws: Floats, level: float) -> Effect:
    ranks = signed_rank(d)
    if not ranks.n:
        return Effect(None, None, "no item differs")
    value = (ranks.plus - ranks.minus) / (ranks.plus + ranks.minus)
    return Effect(value, *drawn_interval(draws, level))


def _superiority(d: Floats, draws: Floats, level: float) -> Effect:
    share = ((sum_counts(d > 0) - sum_counts(d < 0)) / len(d) + 1) / 2
    return Effect(share, *drawn_interval((draws[3] - draws[4] + 1) / 2, level))


def _cohen_h(a: Floats, b: Floats, draws: Floats, level: float) -> Effect:
    def h(p_a: Floats, p_b: Floats) -> Floats:
        angle_a, angle_b = (arcsin(np.sqrt(np.clip(p, 0, 1))) for p in (p_a, p_b))
        return np.asarray(2 * angle_b - 2 * angle_a, np.float64)

    value = float(h(np.asarray(mean(a)), np.asarray(mean(b))))
    return Effect(value, *drawn_interval(h(draws[5], draws[6]), level))


def _odds_ratio(d: Floats, clusters: Ints | None, level: float) -> Effect:
    """c / b; its interval is that of c / (b + c), which lies between 0 and 1, turned into odds."""
    changed = d != 0
    c, b = sum_counts(d > 0), sum_counts(d < 0)
    if not b + c:
        return Effect(None, None, "no item differs")
    share = share_interval(
        d[changed] > 0, None if clusters is None else clusters[changed], level=level
    )
    ends = None if share is None else (_odds(share[0]) or 0.0, _odds(share[1]))
    reasons = []
    if not b:
        reasons.append("no item is 1 in the first run only, so the ratio has no upper bound")
    if ends is None:
        reasons.append("all items that differ are in one group")
    return Effect(c / b if b else None, ends, "; ".join(reasons) or None)


def _odds(share: float) -> float | None:
    return None if share >= 1 else share / (1 - share)


def _resampled_rank_biserial(d: Floats, clusters: Ints | None, resamples: int, seed: int) -> Floats:
    """The correlation in each resample, shape (metrics, resamples); NaN where no item differs.

    An item drawn w times stands for w equal items: with t items of a size, and C of smaller ones,
    their rank is C + (t + 1) / 2.
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
            whole = total(both * rank, axis=0)
            signed = total((plus - minus) * rank, axis=0)
            np.divide(signed, whole, out=drawn[i, low : low + _COLUMNS], where=whole > 0)
    return drawn


def _sizes(absolute: Floats) -> tuple[int, Ints]:
    """How many different sizes there are, at most MOST_SIZES, and which each item has."""
    distinct, place = np.unique(absolute, return_inverse=True)
    if len(distinct) > MOST_SIZES:
        ranks = average_ranks(absolute)
        return MOST_SIZES, ((ranks - 0.5) * MOST_SIZES / len(absolute)).astype(np.int64)
    return len(distinct), place.astype(np.int64)


VARIANCE, DISCORDANT = "variance", "discordant"
_NOISE = 1e-12  # differences of scores vary by so much in their last digits alone


@dataclass(frozen=True)
class Needed:
    """`items` to see `difference`, with clusters also `groups` of the size seen; None with `why`.

    `observed`: the difference is the one in these items.
    """

    difference: float
    items: int | None
    groups: int | None = None
    observed: bool = False
    why: str | None = None


@dataclass(frozen=True)
class Planning:
    """What these items can show. `method` is "variance" or "discordant" (McNemar).

    `detectable` is the smallest true difference that `n` items find with the power wanted; None
    with `why`. `sd` is that of the differences, `discordant` the share of items that differ (values
    0, 1).
    """

    method: str
    n: int
    sd: float | None
    discordant: float | None
    design_effect: float | None
    detectable: float | None
    needed: tuple[Needed, ...]
    why: str | None = None


def plan(
    differences: Floats,
    clusters: Ints | None = None,
    *,
    discordant: bool = False,
    wanted: Sequence[float] = (0.02,),
    alpha: float = 0.05,
    power: float = 0.8,
) -> Planning:
    """Plan from observed paired differences, shape (n,), finite.

    `discordant`: by the share of differences that are not 0, for McNemar's test without clusters.
    `wanted` are differences above 0; the observed one is added where it is not 0.
    """
    n = len(differences)
    units = n if clusters is None else len(np.unique(clusters))
    observed = abs(mean(differences)) if n else 0.0
    targets = [(d, False) for d in wanted]
    if observed > 1e-12:
        targets.append((observed, True))
    share = sum_counts(differences != 0) / n if n and discordant else None
    method = DISCORDANT if discordant else VARIANCE
    reason = None
    if units < 2:
        reason = f"fewer than two {'items' if clusters is None else 'groups'}"
    elif (np.abs(differences - differences[0]) <= _NOISE).all():
        reason = "the difference is the same for every item, so its variance can't be estimated"
    elif design_effect(differences, clusters) <= _NOISE:
        reason = "all groups have the same mean difference, so its variance can't be estimated"
    if reason:
        blank = tuple(Needed(d, None, None, seen, reason) for d, seen in targets)
        return Planning(method, n, None, share, None, None, blank, reason)
    sd, effect = standard_deviation(differences, ddof=1), design_effect(differences, clusters)
    why, needed = None, []
    if share is not None:
        smallest = detectable_discordant(n, share, alpha, power)
        why = None if smallest else f"{n} items are too few for any difference of two shares"
        for d, seen in targets:
            items = items_discordant(d, share, alpha, power) if d <= 1 else None
            too_much = "two shares differ by 1 at the most" if d > 1 else None
            needed.append(Needed(d, items, None, seen, too_much))
    else:
        smallest = detectable(n, units, sd, effect, alpha, power)
        size = n / units
        for d, seen in targets:
            items = items_needed(d, size, sd, effect, alpha, power)
            groups = None if clusters is None else math.ceil(items / size)
            needed.append(Needed(d, items, groups, seen))
    return Planning(method, n, sd, share, effect, smallest, tuple(needed), why)


def design_effect(differences: Floats, clusters: Ints | None) -> float:
    """Variance of the mean with clusters over that of as many independent items; may be below 1."""
    if clusters is None:
        return 1.0
    independent = variance(differences, ddof=1) / len(differences)
    return (variance_of_mean(differences, clusters) or 0.0) / independent


def detectable(
    n: int, units: int, sd: float, effect: float, alpha: float = 0.05, power: float = 0.8
) -> float:
    """The smallest true mean difference that `n` items in `units` units find."""
    return _t_quantiles(units - 1, alpha, power) * sd * math.sqrt(effect / n)


def items_needed(
    difference: float,
    per_unit: float,
    sd: float,
    effect: float,
    alpha: float = 0.05,
    power: float = 0.8,
) -> int:
    """Items that find a true mean difference above 0; `per_unit` of them make a unit, 1 or more."""

    def enough(items: int) -> bool:
        units = max(items / per_unit, 2.0)
        return _t_quantiles(units - 1, alpha, power) * sd * math.sqrt(effect / items) <= difference

    return 2 + bisect_left(range(2, sys.maxsize), True, key=enough)


def items_discordant(
    difference: float, discordant: float, alpha: float = 0.05, power: float = 0.8
) -> int:
    """Items by which McNemar's test finds a difference of two shares, above 0, at most 1.

    A difference above the share of items that differ takes all of them to differ one way.
    """
    share = max(discordant, difference)
    z, z_power = normal_quantile(1 - alpha / 2), normal_quantile(power)
    wide = z * math.sqrt(share) + z_power * math.sqrt(share - difference * difference)
    ratio = wide / difference
    return math.ceil(ratio * ratio)


def detectable_discordant(
    n: int, discordant: float, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """The smallest difference of two shares that McNemar's test of `n` items finds; None: none."""
    low, high = 0.0, 1.0
    if items_discordant(high, discordant, alpha, power) > n:
        return None
    while low < (middle := (low + high) / 2) < high:
        enough = items_discordant(middle, discordant, alpha, power) <= n
        low, high = (low, middle) if enough else (middle, high)
    return high


def _t_quantiles(df: float, alpha: float, power: float) -> float:
    return quantile_of_t(1 - alpha / 2, df) + quantile_of_t(power, df)


@dataclass(frozen=True)
class Sizes:
    """What a study shows with the test of a metric, not adjusted for the number of metrics.

    `wilcoxon` is None for values 0 and 1, where McNemar's test is the same question.
    """

    wilcoxon: SignedRank | None
    effects: Effects
    planning: Planning

    @classmethod
    def compute(
        cls,
        results: Sequence[Paired],
        a: Floats,
        b: Floats,
        clusters: Ints | None,
        *,
        detect: Sequence[float],
        power: float,
        resamples: int,
        seed: int,
        level: float,
    ) -> list[Sizes]:
        """Return Wilcoxon's test, effects and planning of each of the `results`.

        All are over the items scored in both, of `a` and `b`, both of shape (n, metrics). `detect`
        are the differences for which is planned.
        """
        known = ~np.isnan(a) & ~np.isnan(b)
        alike: dict[bytes, list[int]] = {}  # metrics scored on the same items share their draws
        for i in range(len(results)):
            alike.setdefault(known[:, i].tobytes(), []).append(i)
        sizes: dict[int, Sizes] = {}
        for columns in alike.values():
            rows = np.flatnonzero(known[:, columns[0]])
            groups = None if clusters is None else clusters[rows]
            part = np.ix_(rows, np.array(columns))
            binary = [results[i].mcnemar is not None for i in columns]
            effects = effects_of(
                a[part], b[part], groups, binary=binary, resamples=resamples, seed=seed, level=level
            )
            for i, d, effect in zip(
                columns, Paired.differences(a[part], b[part]).T, effects, strict=True
            ):
                wilcoxon = signed_rank(d, groups) if len(d) and results[i].mcnemar is None else None
                planning = plan(
                    d,
                    groups,
                    discordant=results[i].test == MCNEMAR,
                    wanted=detect,
                    alpha=round(1 - level, 12),
                    power=power,
                )
                sizes[i] = cls(wilcoxon, effect, planning)
        return [sizes[i] for i in range(len(results))]
