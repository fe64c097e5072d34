"""The sign-flip test of paired differences (Fisher 1935).

If a and b were alike, each unit's difference might as well have the other sign. A unit is an item,
or a cluster of items that change sign together. Where the units that differ are few, every pattern
of signs is counted and p is exact; else p comes from random patterns and can be no smaller than
1 / (patterns + 1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trueground.stats.bootstrap import Floats
from trueground.stats.differences import without_noise

MOST_LISTED = 65_536  # so many patterns are always counted one by one
MOST_FLIPS = 1_000_000
_WORK = 400_000_000  # units × random patterns: some seconds
_AT_ONCE = 2_000  # patterns
_BLOCK = 256  # units
_FINE = 20  # Holm's p shall be able to come to a twentieth of alpha


@dataclass(frozen=True)
class SignFlip:
    """A two-sided p value. `patterns` of signs were counted: all there are (`exact`), or random."""

    p: float
    patterns: int
    exact: bool


def flips_for(tests: int, units: int, *, resamples: int, alpha: float) -> int:
    """How many random patterns let one of `tests` be found at `alpha` after Holm's adjustment.

    At least `resamples`. More than those are bounded: MOST_FLIPS, and fewer for many units.
    """
    wanted = math.ceil(_FINE * tests / alpha)
    return max(resamples, min(wanted, MOST_FLIPS, _WORK // max(units, 1)))


def sign_flip(
    differences: Floats,
    clusters: NDArray[np.int64] | None = None,
    *,
    flips: int = 2_000,
    seed: int = 0,
) -> list[SignFlip | None]:
    """Test each column of `differences`, shape (items, metrics); NaN is left out.

    p is the share of sign patterns whose sum lies as far from 0 as the sum that was found; among
    random ones the found one is counted as well. All patterns are counted where they are at most
    `flips` or MOST_LISTED. A column without any number has None.
    """
    if not differences.shape[1]:
        return []
    known = np.asarray((~np.isnan(differences)).any(axis=0))
    sums = np.nan_to_num(differences, nan=0.0)
    if clusters is not None:
        _, codes = np.unique(clusters, return_inverse=True)
        sums = np.stack([np.bincount(codes, weights=column) for column in sums.T], axis=1)
        sums = without_noise(sums)
    changed = (sums != 0).sum(axis=0)
    listed = np.asarray(changed <= math.log2(max(flips, MOST_LISTED)))
    some = np.flatnonzero(known & ~listed)
    drawn = dict(zip(some.tolist(), _random(sums[:, some], flips, seed), strict=True))
    return [
        (drawn[i] if i in drawn else _every(sums[:, i])) if known[i] else None
        for i in range(sums.shape[1])
    ]


def _every(sums: Floats) -> SignFlip:
    """All patterns of the units that differ; flipping the others changes nothing."""
    kept = np.zeros(1)  # for each choice of units that keep their sign, what these come to
    for value in sums[sums != 0]:
        kept = np.concatenate([kept, kept + value])
    found = kept[-1]
    far = np.abs(2 * kept - found) >= abs(found) - _slack(sums)
    return SignFlip(float(far.mean()), len(kept), True)


def _random(sums: Floats, flips: int, seed: int) -> list[SignFlip]:
    """A block of units and of patterns at a time: memory does not grow with units × flips."""
    if not sums.shape[1]:
        return []
    found = sums.sum(axis=0)
    least = (np.abs(found) - _slack(sums))[:, None]
    far = np.zeros(sums.shape[1], np.int64)
    for part, start in enumerate(range(0, flips, _AT_ONCE)):
        width = min(_AT_ONCE, flips - start)
        total = np.zeros((sums.shape[1], width))
        for number, low in enumerate(range(0, len(sums), _BLOCK)):
            block = sums[low : low + _BLOCK]
            total += block.T @ _bits(len(block), width, [seed, number, part])
        far += (np.abs(2 * total - found[:, None]) >= least).sum(axis=1)
    return [SignFlip((1 + int(count)) / (flips + 1), flips, False) for count in far]


def _slack(sums: Floats) -> Floats:
    """Sums of the same numbers in another order may differ in their last digits; they are ties."""
    return np.asarray(1e-12 * np.abs(sums).sum(axis=0), np.float64)


def _bits(rows: int, columns: int, seed: Sequence[int]) -> Floats:
    """Zeros and ones by chance, shape (rows, columns)."""
    raw = np.random.SFC64(list(seed)).random_raw(-(-rows * columns // 64))
    bits = np.unpackbits(raw.view(np.uint8), count=rows * columns)
    return bits.reshape(rows, columns).astype(np.float64)
