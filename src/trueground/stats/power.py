"""How small a difference a number of paired items can show, and how many items a difference needs.

Plain planning formulas, for a two-sided test at `alpha` that shall find a true difference with
probability `power`. Means: δ = (t₁₋α⸝₂ + t_power) · SE with SE = s · √(design effect / n), s the
standard deviation of the differences (Cohen 1988, section 2.3; quantiles of Student's t with
units − 1 degrees of freedom). McNemar: n = (z₁₋α⸝₂ √ψ + z_power √(ψ − δ²))² / δ², ψ the share of
items that differ (Miettinen 1968; Connor 1987). The design effect says how many times wider
clusters make the variance of the mean than independent items would (Kish 1965).

All take what was observed (s, ψ, cluster sizes) as what the next items will be like.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trueground.stats.quantiles import normal_quantile, t_quantile

Floats = NDArray[np.float64]
VARIANCE, DISCORDANT = "variance", "discordant"
_STEPS = 200
_NOISE = 1e-12  # differences of scores vary by so much in their last digits alone


@dataclass(frozen=True)
class Needed:
    """`items` to see `difference`; with clusters also `groups` of the size seen. None with `why`.

    `observed` says that the difference is the one that was found.
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
    asked for; None with `why`. `sd` is the standard deviation of the differences, `discordant` the
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
    clusters: NDArray[np.int64] | None = None,
    *,
    discordant: bool = False,
    wanted: Sequence[float] = (0.02,),
    alpha: float = 0.05,
    power: float = 0.8,
) -> Planning:
    """Plan from observed paired differences, shape (n,), finite.

    `discordant`: by the share of differences that are not 0, for McNemar's test of values 0 and 1
    without clusters. `wanted` are differences above 0; the one found is added where it is not 0.
    `clusters` (n,) holds equal numbers for items that belong together.
    """
    n = len(differences)
    units = n if clusters is None else len(np.unique(clusters))
    mean = abs(float(differences.mean())) if n else 0.0
    targets = [(d, False) for d in wanted] + [(mean, True)] * (mean > 1e-12)
    share = float((differences != 0).mean()) if n and discordant else None
    method = DISCORDANT if discordant else VARIANCE
    reason = _unknown(differences, units, clusters)
    if reason:
        blank = tuple(Needed(d, None, None, seen, reason) for d, seen in targets)
        return Planning(method, n, None, share, None, None, blank, reason)
    sd, effect = float(differences.std(ddof=1)), design_effect(differences, clusters)
    why = None
    if share is not None:
        found = detectable_discordant(n, share, alpha, power)
        needed = [_discordant(d, seen, share, alpha, power) for d, seen in targets]
        why = None if found else f"{n} items are too few for any difference of two shares"
    else:
        found = detectable(n, units, sd, effect, alpha, power)
        size = n / units
        counts = [items_needed(d, size, sd, effect, alpha, power) for d, _ in targets]
        needed = [
            Needed(d, count, None if clusters is None else math.ceil(count / size), seen)
            for (d, seen), count in zip(targets, counts, strict=True)
        ]
    return Planning(method, n, sd, share, effect, found, tuple(needed), why)


def _discordant(
    difference: float, observed: bool, share: float, alpha: float, power: float
) -> Needed:
    if difference > 1:
        return Needed(difference, None, None, observed, "two shares differ by 1 at the most")
    items = items_discordant(difference, share, alpha, power)
    return Needed(difference, items, None, observed)


def _unknown(differences: Floats, units: int, clusters: NDArray[np.int64] | None) -> str | None:
    """Why nothing can be planned from these differences."""
    if units < 2:
        return f"fewer than two {'items' if clusters is None else 'groups'}"
    if (np.abs(differences - differences[0]) <= _NOISE).all():
        return "the difference is the same for every item, so nothing tells how much it varies"
    if design_effect(differences, clusters) <= _NOISE:
        return "the mean difference is the same in every group, so nothing tells how it varies"
    return None


def design_effect(differences: Floats, clusters: NDArray[np.int64] | None) -> float:
    """Variance of the mean with clusters over that of as many independent items.

    From the sums of the clusters' deviations, times G / (G − 1) for G clusters. Below 1 where the
    items of a cluster differ more than items of different ones.
    """
    if clusters is None:
        return 1.0
    _, codes = np.unique(clusters, return_inverse=True)
    sums = np.bincount(codes, weights=differences - differences.mean())
    groups, n = len(sums), len(differences)
    mine = float((sums**2).sum()) * groups / (groups - 1) / n**2
    return mine / (float(differences.var(ddof=1)) / n)


def detectable(
    n: int, units: int, sd: float, effect: float, alpha: float = 0.05, power: float = 0.8
) -> float:
    """The smallest true mean difference that `n` items in `units` units find."""
    return _quantiles(units - 1, alpha, power) * sd * math.sqrt(effect / n)


def items_needed(
    difference: float,
    per_unit: float,
    sd: float,
    effect: float,
    alpha: float = 0.05,
    power: float = 0.8,
) -> int:
    """Items that find a true mean difference above 0; `per_unit` of them make a unit, 1 or more."""

    def found(items: int) -> bool:
        units = max(items / per_unit, 2.0)
        return _quantiles(units - 1, alpha, power) * sd * math.sqrt(effect / items) <= difference

    return _first(found, 2)


def items_discordant(
    difference: float, discordant: float, alpha: float = 0.05, power: float = 0.8
) -> int:
    """Items by which McNemar's test finds a difference of two shares, above 0, at most 1.

    A difference above the share of items that differ takes all of them to differ one way.
    """
    return math.ceil(_exact_items(difference, discordant, alpha, power))


def detectable_discordant(
    n: int, discordant: float, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """The smallest difference of two shares that McNemar's test of `n` items finds; None: none."""
    low, high = 0.0, 1.0
    if _exact_items(high, discordant, alpha, power) > n:
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if _exact_items(middle, discordant, alpha, power) > n:
            low = middle
        else:
            high = middle
    return high


def _exact_items(difference: float, discordant: float, alpha: float, power: float) -> float:
    share = max(discordant, difference)
    z, z_power = normal_quantile(1 - alpha / 2), normal_quantile(power)
    return ((z * math.sqrt(share) + z_power * math.sqrt(share - difference**2)) / difference) ** 2


def _first(enough: Callable[[int], bool], low: int) -> int:
    """The least number from `low` on that is enough; more is enough too."""
    high = low
    while not enough(high):
        low, high = high + 1, 2 * high
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return high


def _quantiles(df: float, alpha: float, power: float) -> float:
    return t_quantile(df, 1 - alpha / 2) + t_quantile(df, power)
