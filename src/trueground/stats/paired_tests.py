"""The same items scored twice: the difference of the means, its interval and its p value.

Every difference is b − a, over the items that are scored in both, rounded so that the noise of last
digits makes none. The tests:

- sign-flip (Fisher 1935): if a and b were alike, each unit's difference might as well have the
  other sign. A unit is an item, or a cluster of items that change sign together. Where the units
  that differ are few, every pattern of signs is counted and p is exact; else p comes from random
  patterns and is never below 1 / (patterns + 1).
- McNemar's exact test (1947), for values 0 and 1 without clusters: the same, every flip counted.
- Wilcoxon's signed-rank test (1945): differences of 0 are left out (Wilcoxon's own rule,
  `zero_method="wilcox"` of scipy), the sizes of the others are ranked, equal sizes sharing the mean
  of their ranks, and each rank takes the sign of its difference. With clusters, whose ranks change
  sign together, it is the statistic of Rosner, Glynn and Lee (2006, "The Wilcoxon signed rank test
  for paired comparisons of clustered data"), which weights a cluster by its items. scipy counts
  patterns with ties for 13 items at most, and knows no clusters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueground.stats.agreement import average_ranks
from trueground.stats.arithmetic.distributions import beta_cdf, normal_tails
from trueground.stats.arithmetic.scalars import log2
from trueground.stats.arithmetic.sums import exact_product, mean, sum_counts, total
from trueground.stats.bootstrap import (
    ALIKE,
    Floats,
    Interval,
    Ints,
    all_alike,
    percentiles,
    resampled_means,
    sum_clusters,
)

MCNEMAR = "mcnemar"
SIGN_FLIP = "sign-flip"  # random patterns of signs
SIGN_FLIP_EXACT = "sign-flip-exact"  # all of them
DECIMALS = 12  # 0.3 − 0.2 and 0.2 − 0.1 are a tie, and so are 0.3 and 0.1 + 0.2
MOST_LISTED = 65_536  # so many patterns are always counted one by one
MOST_FLIPS = 1_000_000
MOST_EXACT = 50  # units of which the signed-rank test counts all patterns
MOST_SUMS = 65_536  # different sums of ranks, for this
_WORK = 400_000_000  # units × random patterns: some seconds
_PATTERNS = 2_000  # patterns in a block
_UNITS = 256  # units in a block
_FINE = 20  # Holm's p must be able to reach a twentieth of alpha


@dataclass(frozen=True)
class McNemar:
    """Items that are 1 in a and 0 in b (`b`), the other way round (`c`), and the exact p value."""

    b: int
    c: int
    p: float


@dataclass(frozen=True)
class Paired:
    """One metric in a and b, over the `n` items scored in both; None without any.

    `p` is two-sided, from the `test`, which counted so many `patterns` of signs. `higher`, `lower`
    and `tied` count the items whose value in b is so. `mcnemar` is there where all values are 0 or
    1, and takes items as independent, whatever their clusters. `why` tells why there is no
    interval.
    """

    n: int
    mean_a: float | None = None
    mean_b: float | None = None
    difference: float | None = None
    ci: Interval | None = None
    p: float | None = None
    test: str | None = None
    higher: int = 0
    lower: int = 0
    tied: int = 0
    mcnemar: McNemar | None = None
    patterns: int | None = None
    why: str | None = None

    @classmethod
    def compare(
        cls,
        a: Floats,
        b: Floats,
        clusters: Ints | None = None,
        *,
        resamples: int = 2_000,
        seed: int = 0,
        level: float = 0.95,
        tests: int = 1,
    ) -> list[Paired]:
        """Compare the columns of `a` and `b`, both of shape (items, metrics), NaN where not scored.

        Items with equal `clusters` (items,) belong together. `resamples` are bootstrap samples, and
        the least number of random sign patterns: more where p is adjusted for many `tests`.
        """
        d = cls.differences(a, b)
        metrics = range(d.shape[1])
        means = resampled_means(d, clusters, resamples=resamples, seed=seed)
        binary = [_is_binary(a[:, i]) and _is_binary(b[:, i]) for i in metrics]
        flipped = [i for i in metrics if clusters is not None or not binary[i]]
        units = len(d) if clusters is None else len(np.unique(clusters))
        flips = flips_for(tests, units, resamples=resamples, alpha=1 - level)
        tested = sign_flip(d[:, flipped], clusters, flips=flips, seed=seed)
        by_flips = dict(zip(flipped, tested, strict=True))
        results = []
        for i in metrics:
            both = ~np.isnan(d[:, i])
            n = sum_counts(both)
            if not n:
                results.append(cls(0))
                continue
            higher, lower = sum_counts(d[:, i] > 0), sum_counts(d[:, i] < 0)
            table = McNemar(lower, higher, mcnemar(lower, higher)) if binary[i] else None
            flip = by_flips.get(i)
            p, test = (table.p, MCNEMAR) if table else (None, None)
            if flip:
                p, test = flip.p, SIGN_FLIP_EXACT if flip.exact else SIGN_FLIP
            alike = all_alike(means[i])  # then nothing tells how other items would differ
            results.append(
                cls(
                    n=n,
                    mean_a=mean(a[both, i]),
                    mean_b=mean(b[both, i]),
                    difference=mean(d[both, i]),
                    ci=None if alike else percentiles(means[i], level),
                    p=p,
                    test=test,
                    higher=higher,
                    lower=lower,
                    tied=n - higher - lower,
                    mcnemar=table,
                    patterns=flip.patterns if flip else None,
                    why=ALIKE if alike else None,
                )
            )
        return results

    @staticmethod
    def adjust(p_values: Sequence[float | None]) -> list[float | None]:
        """Return Holm's (1979) adjusted p values, in order; None is no test, and not counted."""
        known = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
        adjusted: list[float | None] = [None] * len(p_values)
        largest = 0.0
        for place, (p, i) in enumerate(known):
            largest = max(largest, min(1.0, (len(known) - place) * p))
            adjusted[i] = largest
        return adjusted

    @staticmethod
    def differences(a: Floats, b: Floats) -> Floats:
        """Return b − a to DECIMALS decimals, by which differences are tested and counted."""
        return _without_noise(b - a)

    @property
    def sampled_patterns(self) -> int | None:
        """How many random patterns of signs p is from; None if it is exact or missing."""
        return self.patterns if self.test == SIGN_FLIP else None

    def of_whole_runs(self, n: int, **numbers: Any) -> Paired:
        """Return the same with `numbers` of the two runs as wholes, which have no test."""
        is_alike = numbers["difference"] is not None and numbers["ci"] is None
        return replace(
            self,
            n=n,
            why=ALIKE if is_alike else None,
            p=None,
            test=None,
            mcnemar=None,
            patterns=None,
            **numbers,
        )


@dataclass(frozen=True)
class SignFlip:
    """A two-sided p value. `patterns` of signs were counted: all there are (`exact`), or random."""

    p: float
    patterns: int
    exact: bool


@dataclass(frozen=True)
class SignedRank:
    """The sums of ranks of positive (`plus`) and negative differences, `n` that are not 0, `zeros`.

    `units` is the number of items, or of clusters, that change sign; `method` "exact" or "normal".
    """

    plus: float
    minus: float
    n: int
    zeros: int
    units: int
    method: str
    p: float


def _without_noise(values: Floats) -> Floats:
    return np.asarray(np.round(values, DECIMALS), np.float64)


def _is_binary(values: Floats) -> bool:
    return bool(((values == 0) | (values == 1) | np.isnan(values)).all())


def mcnemar(b: int, c: int) -> float:
    """Two-sided exact p value: 2 · P(X ≤ min(b, c)) for X ~ Binomial(b + c, 1/2), at most 1."""
    if min(b, c) < 0:
        raise ValueError(f"counts are {b} and {c}; expected 0 or more")
    return 1.0 if b == c else min(1.0, 2 * beta_cdf(0.5, max(b, c), min(b, c) + 1))


def flips_for(tests: int, units: int, *, resamples: int, alpha: float) -> int:
    """How many random patterns, at least `resamples`, let one of `tests` reach `alpha` after
    Holm's.
    """
    wanted = math.ceil(_FINE * tests / alpha)
    return max(resamples, min(wanted, MOST_FLIPS, _WORK // max(units, 1)))


def sign_flip(
    differences: Floats, clusters: Ints | None = None, *, flips: int = 2_000, seed: int = 0
) -> list[SignFlip | None]:
    """Test each column of `differences`, shape (items, metrics); NaN is left out.

    p is the share of sign patterns whose sum lies as far from 0 as the observed sum, which counts
    among random ones. All are counted where they are at most `flips` or MOST_LISTED. None: no
    number.
    """
    if not differences.shape[1]:
        return []
    known = np.asarray((~np.isnan(differences)).any(axis=0))
    sums = np.nan_to_num(differences, nan=0.0)
    if clusters is not None:
        sums = np.stack([sum_clusters(column, clusters) for column in sums.T], axis=1)
        sums = _without_noise(sums)
    changed = sum_counts(sums != 0, axis=0)
    listed = np.asarray(changed <= log2(max(flips, MOST_LISTED)))
    drawn = np.flatnonzero(known & ~listed)
    random = dict(zip(drawn.tolist(), _flip_randomly(sums[:, drawn], flips, seed), strict=True))
    return [
        (random.get(i) or _flip_all(sums[:, i])) if known[i] else None for i in range(sums.shape[1])
    ]


def _flip_all(sums: Floats) -> SignFlip:
    """All patterns of the units that differ; flipping the others changes nothing."""
    positive = np.zeros(1)  # for each choice of units that keep their sign, their sum
    for value in sums[sums != 0]:
        positive = np.concatenate([positive, positive + value])
    observed = positive[-1]
    far = np.abs(2 * positive - observed) >= abs(observed) - _slack(sums)
    return SignFlip(sum_counts(far) / len(far), len(positive), True)


def _flip_randomly(sums: Floats, flips: int, seed: int) -> list[SignFlip]:
    """A block of units and of patterns at a time: memory does not grow with units × flips."""
    if not sums.shape[1]:
        return []
    observed = total(sums, axis=0)
    least = (np.abs(observed) - _slack(sums))[:, None]
    far = np.zeros(sums.shape[1], np.int64)
    for part, start in enumerate(range(0, flips, _PATTERNS)):
        width = min(_PATTERNS, flips - start)
        kept = np.zeros((sums.shape[1], width))  # the sums of those that keep their sign
        for number, low in enumerate(range(0, len(sums), _UNITS)):
            block = sums[low : low + _UNITS]
            size = len(block) * width
            raw = np.random.SFC64([seed, number, part]).random_raw(-(-size // 64))
            bits = np.unpackbits(raw.view(np.uint8), count=size).reshape(len(block), width)
            kept += exact_product(block.T, bits.astype(np.float64), _UNITS)
        far += sum_counts(np.abs(2 * kept - observed[:, None]) >= least, axis=1)
    return [SignFlip((1 + int(count)) / (flips + 1), flips, False) for count in far]


def _slack(sums: Floats) -> Floats:
    """Sums of the same numbers in another order may differ in their last digits; they are ties."""
    return np.asarray(1e-12 * total(np.abs(sums), axis=0), np.float64)


def signed_rank(differences: Floats, clusters: Ints | None = None) -> SignedRank:
    """Wilcoxon's test of `differences` (n,), finite; `clusters` (n,) has equal numbers for one.

    That they lie symmetrically about 0 is more than a mean of 0: a small p may come from skew too.
    Up to MOST_EXACT units with MOST_SUMS different sums every pattern of signs is counted, ties
    too. Beyond that the sum is taken as normal, with the variance of the observed ranks.
    """
    rounded = _without_noise(differences)
    known = rounded != 0
    left = rounded[known]
    ranks = average_ranks(np.abs(left))
    sums = np.where(left > 0, ranks, -ranks)
    plus, minus = total(ranks[left > 0]), total(ranks[left < 0])
    if clusters is not None:
        sums = sum_clusters(sums, clusters[known])
    weights = np.rint(2 * np.abs(sums)).astype(np.int64)  # ranks are halves at the least
    weights = weights[weights > 0]
    observed, size = abs(round(2 * total(sums))), len(weights)
    method, p = "exact", 1.0
    if size > MOST_EXACT or min(1 << size, sum_counts(weights) + 1) > MOST_SUMS:
        sizes = weights.astype(np.float64)
        z = observed / math.sqrt(total(sizes * sizes))
        method, p = "normal", normal_tails(z)
    elif size:
        p = _share_of_patterns(weights, observed)
    return SignedRank(plus, minus, len(left), sum_counts(~known), len(sums), method, p)


def _share_of_patterns(weights: Ints, observed: int) -> float:
    """The share of sign patterns whose sum is as far from 0 as `observed`."""
    values, counts = np.zeros(1, np.int64), np.ones(1, np.float64)
    for weight in weights:
        both = np.concatenate([values - weight, values + weight])
        values, place = np.unique(both, return_inverse=True)
        counts = np.asarray(np.bincount(place, weights=np.tile(counts, 2)), np.float64)
    return total(counts[np.abs(values) >= observed]) / total(counts)
