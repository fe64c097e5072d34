"""The same items scored twice: the difference of the means, its interval and its p value.

Every difference is b − a, over the items that are scored in both. Three tools stand behind it:
the percentile bootstrap of `stats.bootstrap` on the column of differences; the sign-flip test (if
a and b were alike, each unit's difference might as well have the other sign; Fisher 1935), where a
cluster is one unit; and for values 0 and 1 without clusters McNemar's exact test (McNemar 1947),
which is that same test with every flip counted instead of a sample of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trueground.stats.bootstrap import Floats, Interval, intervals

MCNEMAR = "mcnemar"
SIGN_FLIP = "sign-flip"
_BLOCK = 256


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
    takes items as independent, whatever their clusters. Without items the numbers are None.
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


def paired(
    a: Floats,
    b: Floats,
    clusters: NDArray[np.int64] | None = None,
    *,
    resamples: int = 2_000,
    seed: int = 0,
    level: float = 0.95,
) -> list[Paired]:
    """Compare the columns of `a` and `b`, both of shape (items, metrics), rows in the same order.

    NaN marks an item that is not scored. `clusters` (items,) holds equal numbers for items that
    belong together. `resamples` is the number of bootstrap samples, and of sign flips.
    """
    differences = b - a
    ranges = intervals(differences, clusters, resamples=resamples, seed=seed, level=level)
    binary = [_is_binary(a[:, i]) and _is_binary(b[:, i]) for i in range(a.shape[1])]
    flipped = [i for i in range(a.shape[1]) if clusters is not None or not binary[i]]
    p_values: dict[int, float | None] = dict(
        zip(
            flipped,
            sign_flip(differences[:, flipped], clusters, flips=resamples, seed=seed),
            strict=True,
        )
    )
    return [
        _paired(a[:, i], b[:, i], differences[:, i], ranges[i], binary[i], p_values.get(i))
        for i in range(a.shape[1])
    ]


def _paired(
    a: Floats,
    b: Floats,
    difference: Floats,
    ci: Interval | None,
    binary: bool,
    p: float | None,
) -> Paired:
    both = ~np.isnan(difference)
    n = int(both.sum())
    if not n:
        return Paired(0, None, None, None, None, None, None, 0, 0, 0, None)
    higher, lower = int((difference > 0).sum()), int((difference < 0).sum())
    table = McNemar(lower, higher, mcnemar(lower, higher)) if binary else None
    test = SIGN_FLIP
    if p is None and table is not None:
        p, test = table.p, MCNEMAR
    means = float(a[both].mean()), float(b[both].mean())
    shift = float(difference[both].mean())
    return Paired(n, *means, shift, ci, p, test, higher, lower, n - higher - lower, table)


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


def sign_flip(
    differences: Floats,
    clusters: NDArray[np.int64] | None = None,
    *,
    flips: int = 2_000,
    seed: int = 0,
) -> list[float | None]:
    """Two-sided p value of each column of `differences`, shape (items, metrics); NaN is left out.

    The share of random sign patterns whose sum lies as far from 0 as the sum that was found, the
    found one counted among them, so that p is at least 1 / (flips + 1). A block of units at a time:
    memory does not grow with flips × items. A column without any number has None.
    """
    if not differences.shape[1]:
        return []
    known = (~np.isnan(differences)).sum(axis=0)
    sums = np.nan_to_num(differences, nan=0.0)
    if clusters is not None:
        _, codes = np.unique(clusters, return_inverse=True)
        sums = np.stack([np.bincount(codes, weights=column) for column in sums.T], axis=1)
    total = np.zeros((sums.shape[1], flips))
    for number, low in enumerate(range(0, len(sums), _BLOCK)):
        block = sums[low : low + _BLOCK]
        total += block.T @ _bits(len(block), flips, [seed, number])
    found = sums.sum(axis=0)
    total = np.abs(2 * total - found[:, None])
    # Sums of the same numbers in another order may differ in their last digits; they are ties.
    slack = 1e-12 * np.abs(sums).sum(axis=0)
    far = (total >= (np.abs(found) - slack)[:, None]).sum(axis=1)
    return [
        (1 + int(count)) / (flips + 1) if numbers else None
        for count, numbers in zip(far, known, strict=True)
    ]


def _bits(rows: int, columns: int, seed: Sequence[int]) -> Floats:
    """Zeros and ones by chance, shape (rows, columns)."""
    raw = np.random.SFC64(list(seed)).random_raw(-(-rows * columns // 64))
    bits = np.unpackbits(raw.view(np.uint8), count=rows * columns)
    return bits.reshape(rows, columns).astype(np.float64)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's (1979) adjusted p values, in the order given; None is no test and does not count."""
    known = [i for i, p in enumerate(p_values) if p is not None]
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for place, i in enumerate(sorted(known, key=lambda i: p_values[i] or 0.0)):
        largest = max(largest, min(1.0, (len(known) - place) * (p_values[i] or 0.0)))
        adjusted[i] = largest
    return adjusted
