"""How small a difference items can show, how many it needs, and how many labels a rate needs.

Plain planning formulas, for a two-sided test at `alpha` that finds a true difference with
probability `power`. Means: δ = (t₁₋α⸝₂ + t_power) · SE with SE = s · √(design effect / n), s the
standard deviation of the differences (Cohen 1988, section 2.3; quantiles of Student's t with
units − 1 degrees of freedom). McNemar: n = (z₁₋α⸝₂ √ψ + z_power √(ψ − δ²))² / δ², ψ the share of
items that differ (Miettinen 1968; Connor 1987). The design effect says how many times wider
clusters make the variance of the mean than independent items would (Kish 1965).

All take what was observed (s, ψ, cluster sizes) as what the next items will be like.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from trueground.stats.bootstrap import Floats, Ints, variance_of_mean
from trueground.stats.corrected import LEAST_LABELS, LEAST_OF_A_CLASS, t_quantile

VARIANCE, DISCORDANT = "variance", "discordant"
_NOISE = 1e-12  # differences of scores vary by so much in their last digits alone


@dataclass(frozen=True)
class Needed:
    """`items` to see `difference`; with clusters also `groups` of the size seen. None with `why`.

    `observed` says that the difference is the one in these items.
    """

    difference: float
    items: int | None
    groups: int | None = None
    observed: bool = False
    why: str | None = None


@dataclass(frozen=True)
class Planning:
    """What these items can show. `method` is "variance" or "discordant" (McNemar).

    `detectable` is the smallest true difference, either way, that `n` items find with the power
    wanted; None with `why`. `sd` is the standard deviation of the differences, `discordant` the
    share of items that differ (for 0/1 values), `design_effect` 1 without clusters.
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

    `discordant`: by the share of differences that are not 0, for McNemar's test of values 0 and 1
    without clusters. `wanted` are differences above 0; the observed one is added where it is not 0.
    `clusters` (n,) holds equal numbers for items that belong together.
    """
    n = len(differences)
    units = n if clusters is None else len(np.unique(clusters))
    mean = abs(float(differences.mean())) if n else 0.0
    targets = [(d, False) for d in wanted] + [(mean, True)] * (mean > 1e-12)
    share = float((differences != 0).mean()) if n and discordant else None
    method = DISCORDANT if discordant else VARIANCE
    if reason := _why_unknown(differences, units, clusters):
        blank = tuple(Needed(d, None, None, observed, reason) for d, observed in targets)
        return Planning(method, n, None, share, None, None, blank, reason)
    sd, effect = float(differences.std(ddof=1)), design_effect(differences, clusters)
    why, needed = None, []
    if share is not None:
        smallest = detectable_discordant(n, share, alpha, power)
        why = None if smallest else f"{n} items are too few for any difference of two shares"
        for d, observed in targets:
            items = items_discordant(d, share, alpha, power) if d <= 1 else None
            too_much = "two shares differ by 1 at the most" if d > 1 else None
            needed.append(Needed(d, items, None, observed, too_much))
    else:
        smallest = detectable(n, units, sd, effect, alpha, power)
        size = n / units
        for d, observed in targets:
            items = items_needed(d, size, sd, effect, alpha, power)
            groups = None if clusters is None else math.ceil(items / size)
            needed.append(Needed(d, items, groups, observed))
    return Planning(method, n, sd, share, effect, smallest, tuple(needed), why)


def _why_unknown(differences: Floats, units: int, clusters: Ints | None) -> str | None:
    """Why nothing can be planned from these differences."""
    if units < 2:
        return f"fewer than two {'items' if clusters is None else 'groups'}"
    if (np.abs(differences - differences[0]) <= _NOISE).all():
        return "the difference is the same for every item, so nothing tells how much it varies"
    if design_effect(differences, clusters) <= _NOISE:
        return "the mean difference is the same in every group, so nothing tells how it varies"
    return None


def design_effect(differences: Floats, clusters: Ints | None) -> float:
    """Variance of the mean with clusters over that of as many independent items.

    Below 1 where the items of a cluster differ more than items of different ones.
    """
    if clusters is None:
        return 1.0
    independent = float(differences.var(ddof=1)) / len(differences)
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

    low = high = 2
    while not enough(high):
        low, high = high + 1, 2 * high
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return high


def items_discordant(
    difference: float, discordant: float, alpha: float = 0.05, power: float = 0.8
) -> int:
    """Items by which McNemar's test finds a difference of two shares, above 0, at most 1.

    A difference above the share of items that differ takes all of them to differ one way.
    """
    return math.ceil(_items_discordant(difference, discordant, alpha, power))


def detectable_discordant(
    n: int, discordant: float, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """The smallest difference of two shares that McNemar's test of `n` items finds; None: none."""
    low, high = 0.0, 1.0
    if _items_discordant(high, discordant, alpha, power) > n:
        return None
    while low < (middle := (low + high) / 2) < high:
        if _items_discordant(middle, discordant, alpha, power) > n:
            low = middle
        else:
            high = middle
    return high


def _items_discordant(difference: float, discordant: float, alpha: float, power: float) -> float:
    share = max(discordant, difference)
    z, z_power = NormalDist().inv_cdf(1 - alpha / 2), NormalDist().inv_cdf(power)
    return ((z * math.sqrt(share) + z_power * math.sqrt(share - difference**2)) / difference) ** 2


def _t_quantiles(df: float, alpha: float, power: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(df, 1 - alpha / 2) + stdtrit(df, power))


def allocate_labels(
    shares: Floats, strata: Ints, half_width: float, *, level: float = 0.95
) -> tuple[Ints, float]:
    """Labels of each stratum (strata,) for an interval of ± `half_width`, and that expected.

    `shares` (items,) is the probability that people label the item 1, as far as is known; `strata`
    (items,) are numbers from 0. Each stratum gets labels by its size and its spread (Neyman 1934);
    spreads are guesses, so none counts for less than that of a share of 0.1. At least two of each
    stratum, LEAST_LABELS of all, and so many that LEAST_OF_A_CLASS of the rarer kind are likely.
    """
    sizes, n = np.bincount(strata), len(shares)
    p = np.bincount(strata, shares) / sizes
    spread = np.sqrt(np.maximum(p * (1 - p), 0.09))
    rarer = max(min(float(shares.mean()), 1 - float(shares.mean())), 1e-3)

    def counts_for(total: int) -> Ints:
        ends = np.rint(total * np.cumsum(sizes * spread) / (sizes @ spread)).astype(np.int64)
        return np.asarray(np.minimum(sizes, np.maximum(2, np.diff(ends, prepend=0))))

    def width_of(counts: Ints) -> float:
        variance = float(((sizes / n) ** 2 * spread**2 * (1 / counts - 1 / sizes)).sum())
        freedom = int(counts.sum()) - len(sizes) - 1
        return t_quantile(freedom, level) * math.sqrt(max(variance, 0.0))

    likely = LEAST_OF_A_CLASS + 2 * math.sqrt(LEAST_OF_A_CLASS)
    low, high = min(n, max(LEAST_LABELS, math.ceil(likely / rarer))), n
    while low < high:
        middle = (low + high) // 2
        if width_of(counts_for(middle)) <= half_width:
            high = middle
        else:
            low = middle + 1
    return counts_for(low), width_of(counts_for(low))
