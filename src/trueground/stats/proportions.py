"""A share of items: what it is at least, and between which bounds it lies."""

from __future__ import annotations

import numpy as np

from trueground.errors import InputError
from trueground.stats.bootstrap import Interval, Ints, Mask, variance_of_mean


def lower_bound(hits: Mask, clusters: Ints | None = None, *, level: float = 0.95) -> float | None:
    """What the share of hits is at least, in `level` of all cases (one-sided).

    `hits` has the shape (n,); `clusters` (n,) holds equal numbers for items that belong together.
    Without clusters it is the exact bound of Clopper and Pearson. With them the items count as so
    many as would vary as much by themselves (Korn & Graubard 1998, "Confidence intervals for
    proportions with small expected number of positive counts"): copies are no new evidence. Where
    all items are alike, that many are the clusters. None with fewer than two items (clusters).
    InputError: a level that is not between 0 and 1.
    """
    if not 0 < level < 1:
        raise InputError(f"level={level}; expected a number between 0 and 1")
    size = _effective_size(hits, clusters, level) if len(hits) >= 2 else None
    if size is None:
        return None
    return clopper_pearson(float(hits.mean()) * size, size, 2 * level - 1)[0]


def share_interval(
    hits: Mask, clusters: Ints | None = None, *, level: float = 0.95
) -> Interval | None:
    """Between which bounds the share of hits lies (two-sided), by the rule of `lower_bound`.

    None without items, and where all of them are in one cluster.
    """
    size = _effective_size(hits, clusters, (1 + level) / 2) if len(hits) else None
    return None if size is None else clopper_pearson(float(hits.mean()) * size, size, level)


def clopper_pearson(k: float, n: float, level: float = 0.95) -> Interval:
    """The exact interval of a share of k in n (Clopper and Pearson 1934), n above 0."""
    tail = (1 - level) / 2
    if k <= 0:
        return 0.0, 1.0 - tail ** (1 / n)
    if k >= n:
        return tail ** (1 / n), 1.0
    from scipy.special import betaincinv  # slow to load, and not needed where all are alike

    return float(betaincinv(k, n - k + 1, tail)), float(betaincinv(k + 1, n - k, 1 - tail))


def _effective_size(hits: Mask, clusters: Ints | None, level: float) -> float | None:
    """Items that would vary as much by themselves; at most all, fewer where clusters are few.

    None where all items are in one cluster.
    """
    from scipy.special import stdtrit

    n, share = len(hits), float(hits.mean())
    if clusters is None:
        return float(n)
    number = len(np.unique(clusters))
    if number < 2:
        return None
    if share in (0, 1):
        return float(number)
    if number == n:
        return float(n)
    variance = variance_of_mean(hits.astype(np.float64), clusters)
    size = share * (1 - share) / variance if variance else float(n)
    few = float(stdtrit(n - 1, level) / stdtrit(number - 1, level))
    return min(size * few**2, float(n))
