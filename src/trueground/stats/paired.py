"""The same items scored twice: the difference of the means, its interval and its p value.

Every difference is b − a, over the items that are scored in both, without the noise of last digits
(`stats.differences`). Three tools stand behind it: the percentile bootstrap of `stats.bootstrap` on
the column of differences; the sign-flip test of `stats.sign_flip`, where a cluster is one unit; and
for values 0 and 1 without clusters McNemar's exact test (McNemar 1947), which is that same test
with every flip counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trueground.stats.bootstrap import Floats, Interval, percentiles, resampled_means
from trueground.stats.differences import differences
from trueground.stats.drawn import ALIKE, all_alike
from trueground.stats.sign_flip import SignFlip, flips_for, sign_flip

MCNEMAR = "mcnemar"
SIGN_FLIP = "sign-flip"  # random patterns of signs
SIGN_FLIP_EXACT = "sign-flip-exact"  # all of them


@dataclass(frozen=True)
class McNemar:
    """Items that are 1 in a and 0 in b (`b`), the other way round (`c`), and the exact p value."""

    b: int
    c: int
    p: float


@dataclass(frozen=True)
class Paired:
    """One metric in a and b. `n` items are scored in both, and all else is about these.

    `p` is two-sided, from the test named in `test`. `higher`, `lower` and `tied` count the items
    whose value in b is higher, lower, the same. `mcnemar` is None unless all values are 0 or 1; it
    takes items as independent, whatever their clusters. `patterns` is how many patterns of signs
    the sign-flip test counted, all there are or random ones. Without items the numbers are None.
    `why` tells why items that are there have no interval.
    """

    n: int
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    ci: Interval | None
    p: float | None
    test: str | None
    higher: int
    lower: int
    tied: int
    mcnemar: McNemar | None
    patterns: int | None = None
    why: str | None = None


def paired(
    a: Floats,
    b: Floats,
    clusters: NDArray[np.int64] | None = None,
    *,
    resamples: int = 2_000,
    seed: int = 0,
    level: float = 0.95,
    tests: int = 1,
) -> list[Paired]:
    """Compare the columns of `a` and `b`, both of shape (items, metrics), rows in the same order.

    NaN marks an item that is not scored. `clusters` (items,) holds equal numbers for items that
    belong together. `resamples` is the number of bootstrap samples, and the least number of random
    sign patterns: there are more where p is to be adjusted for many `tests` at 1 − `level`.
    """
    d = differences(a, b)
    means = resampled_means(d, clusters, resamples=resamples, seed=seed)
    binary = [_is_binary(a[:, i]) and _is_binary(b[:, i]) for i in range(a.shape[1])]
    flipped = [i for i in range(a.shape[1]) if clusters is not None or not binary[i]]
    units = len(d) if clusters is None else len(np.unique(clusters))
    flips = flips_for(tests, units, resamples=resamples, alpha=1 - level)
    tested = sign_flip(d[:, flipped], clusters, flips=flips, seed=seed)
    found = dict(zip(flipped, tested, strict=True))
    return [
        _paired(a[:, i], b[:, i], d[:, i], _interval(means[i], level), binary[i], found.get(i))
        for i in range(a.shape[1])
    ]


def _interval(means: Floats, level: float) -> tuple[Interval | None, str | None]:
    """None where the items differ by one number: nothing tells how others would."""
    return (None, ALIKE) if all_alike(means) else (percentiles(means, level), None)


def _paired(
    a: Floats,
    b: Floats,
    difference: Floats,
    interval: tuple[Interval | None, str | None],
    binary: bool,
    flipped: SignFlip | None,
) -> Paired:
    both = ~np.isnan(difference)
    n = int(both.sum())
    if not n:
        return Paired(0, None, None, None, None, None, None, 0, 0, 0, None)
    higher, lower = int((difference > 0).sum()), int((difference < 0).sum())
    table = McNemar(lower, higher, mcnemar(lower, higher)) if binary else None
    p, test, patterns = None, None, None
    if flipped is not None:
        p, patterns = flipped.p, flipped.patterns
        test = SIGN_FLIP_EXACT if flipped.exact else SIGN_FLIP
    elif table is not None:
        p, test = table.p, MCNEMAR
    means = float(a[both].mean()), float(b[both].mean())
    shift = float(difference[both].mean())
    ci, why = interval
    counts = (higher, lower, n - higher - lower)
    return Paired(n, *means, shift, ci, p, test, *counts, table, patterns, why)


def _is_binary(values: Floats) -> bool:
    return bool(((values == 0) | (values == 1) | np.isnan(values)).all())


def mcnemar(b: int, c: int) -> float:
    """Two-sided exact p value: 2 · P(X ≤ min(b, c)) for X ~ Binomial(b + c, 1/2), at most 1.

    Beyond a thousand items the lower tail is its largest term times the series
    1 + k/(n−k+1) + k(k−1)/((n−k+1)(n−k+2)) + …, with a relative error below 1e-7 for n of millions
    (that of `lgamma`); a p value below 1e-308 is 0.
    """
    if min(b, c) < 0:
        raise ValueError(f"counts are {b} and {c}; expected 0 or more")
    if b == c:
        return 1.0
    n, k = b + c, min(b, c)
    if n <= 1_000:
        return min(1.0, float(sum(math.comb(n, i) for i in range(k + 1)) / 2 ** (n - 1)))
    log_term = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) - n * math.log(2)
    total = ratio = 1.0
    while k > 0 and ratio > total * 1e-17:
        ratio *= k / (n - k + 1)
        total += ratio
        k -= 1
    return min(1.0, 2 * math.exp(log_term + math.log(total)))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's (1979) adjusted p values, in the order given; None is no test and does not count."""
    known = [i for i, p in enumerate(p_values) if p is not None]
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for place, i in enumerate(sorted(known, key=lambda i: p_values[i] or 0.0)):
        largest = max(largest, min(1.0, (len(known) - place) * (p_values[i] or 0.0)))
        adjusted[i] = largest
    return adjusted
