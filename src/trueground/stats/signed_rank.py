"""Wilcoxon's signed-rank test (1945) of paired differences, of single items or of whole clusters.

Differences of 0 are left out (Wilcoxon's own rule, `zero_method="wilcox"` of scipy), the sizes of
the others are ranked, equal sizes sharing the mean of their ranks, and each rank takes the sign of
its difference. If a and b were alike, each unit's sum of signed ranks could as well have the other
sign. With clusters a unit is a cluster, whose ranks change sign together: the statistic of Rosner,
Glynn and Lee (2006, "The Wilcoxon signed rank test for paired comparisons of clustered data"),
which weights a cluster by its items.

Up to `MOST_EXACT` units every pattern of signs is counted, ties or not, where no more than
`MOST_SUMS` different sums can come out. Beyond that the sum is taken as normal, with the variance
that the ranks found give (so that ties are accounted for), without continuity correction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trueground.stats.correlation import average_ranks
from trueground.stats.differences import without_noise

Floats = NDArray[np.float64]
MOST_EXACT = 50
MOST_SUMS = 65_536


@dataclass(frozen=True)
class SignedRank:
    """`plus` and `minus` are the sums of ranks of positive and negative differences.

    `n` differences are not 0, `zeros` are. `units` is the number of items, or of clusters, that
    change sign. `method` is "exact" or "normal"; `p` is two-sided, 1 where no difference is left.
    """

    plus: float
    minus: float
    n: int
    zeros: int
    units: int
    method: str
    p: float


def signed_rank(differences: Floats, clusters: NDArray[np.int64] | None = None) -> SignedRank:
    """Test `differences`, shape (n,), finite; `clusters` (n,) has equal numbers for one cluster.

    The null hypothesis is that the differences lie symmetrically about 0. That is more than a mean
    of 0: a small p may come from skew as well.
    """
    rounded = without_noise(differences)
    known = rounded != 0
    left = rounded[known]
    ranks = average_ranks(np.abs(left)) if len(left) else np.empty(0)
    signed = np.where(left > 0, ranks, -ranks)
    plus, minus = float(ranks[left > 0].sum()), float(ranks[left < 0].sum())
    sums = signed
    if clusters is not None:
        _, codes = np.unique(clusters[known], return_inverse=True)
        sums = np.bincount(codes, weights=signed).astype(np.float64)
    method, p = _p_value(sums)
    return SignedRank(plus, minus, len(left), int((~known).sum()), len(sums), method, p)


def _p_value(sums: Floats) -> tuple[str, float]:
    """How it was found, and the two-sided p value of the sum of `sums` under flips of signs."""
    twice = np.rint(2 * np.abs(sums)).astype(np.int64)  # ranks are halves at the least
    weights = twice[twice > 0]
    if not len(weights):
        return "exact", 1.0
    found = abs(round(2 * float(sums.sum())))
    size = len(weights)
    if size <= MOST_EXACT and min(2.0**size, float(weights.sum()) + 1) <= MOST_SUMS:
        return "exact", _exact(weights, found)
    z = found / math.sqrt(float((weights.astype(np.float64) ** 2).sum()))
    return "normal", math.erfc(z / math.sqrt(2))


def _exact(weights: NDArray[np.int64], found: int) -> float:
    """The share of sign patterns whose sum lies at least as far from 0 as `found`.

    Counts are whole numbers below 2**50, which floats hold exactly.
    """
    values, counts = np.zeros(1, np.int64), np.ones(1, np.float64)
    for weight in weights:
        both = np.concatenate([values - weight, values + weight])
        values, place = np.unique(both, return_inverse=True)
        counts = np.asarray(np.bincount(place, weights=np.tile(counts, 2)), np.float64)
    return float(counts[np.abs(values) >= found].sum() / counts.sum())
