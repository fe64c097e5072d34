"""A share of items: what it is at least, and between which bounds it lies."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueground.errors import InputError
from trueground.stats.bootstrap import Interval
from trueground.stats.quantiles import beta_quantile, t_quantile


def lower_bound(
    hits: NDArray[np.bool_], clusters: NDArray[np.int64] | None = None, *, level: float = 0.95
) -> float | None:
    """What the share of hits is at least, in so many of all cases (one-sided).

    `hits` has the shape (n,); `clusters` (n,) holds equal numbers for items that belong together.
    Without clusters it is the exact bound of Clopper and Pearson. With them the items count as so
    many as would vary as much by themselves (Korn & Graubard 1998, "Confidence intervals for
    proportions with small expected number of positive counts"): copies are no new evidence. Where
    all items are alike, that many are the clusters. None with fewer than two items (clusters).
    InputError: a level that is not between 0 and 1.
    """
    if not 0 < level < 1:
        raise InputError(f"level={level}; expected a number between 0 and 1")
    n, share = len(hits), float(hits.mean()) if len(hits) else 0.0
    if n < 2:
        return None
    size = float(n)
    if clusters is not None:
        _, place = np.unique(clusters, return_inverse=True)
        number = int(place.max()) + 1
        if number < 2:
            return None
        size = _effective(hits, place, share, number, level)
    if share == 0:
        return 0.0
    return beta_quantile(share * size, (1 - share) * size + 1, 1 - level)


def share_interval(
    hits: NDArray[np.bool_], clusters: NDArray[np.int64] | None = None, *, level: float = 0.95
) -> Interval | None:
    """Between which bounds the share of hits lies (two-sided), by the rule of `lower_bound`.

    None without items, and where all of them are in one cluster.
    """
    n = len(hits)
    if not n:
        return None
    share, size = float(hits.mean()), float(n)
    if clusters is not None:
        _, place = np.unique(clusters, return_inverse=True)
        number = int(place.max()) + 1
        if number < 2:
            return None
        size = _effective(hits, place, share, number, (1 + level) / 2)
    return clopper_pearson(share * size, size, level)


def clopper_pearson(k: float, n: float, level: float = 0.95) -> Interval:
    """The exact interval of a share of k in n (Clopper and Pearson 1934), n above 0."""
    tail = (1 - level) / 2
    low = beta_quantile(k, n - k + 1, tail) if k else 0.0
    high = beta_quantile(k + 1, n - k, 1 - tail) if k < n else 1.0
    return low, high


def _effective(
    hits: NDArray[np.bool_], place: NDArray[np.intp], share: float, number: int, level: float
) -> float:
    """Items that would vary as much by themselves; at most all, fewer where clusters are few."""
    if share in (0, 1):
        return float(number)
    n = len(hits)
    # The clusters' deviations sum to 0, so their squares come out too small by 1 − 1 / number.
    squares = float((np.bincount(place, hits - share) ** 2).sum())
    variance = squares / n**2 * number / (number - 1)
    size = share * (1 - share) / variance if variance else float(n)
    few = t_quantile(n - 1, level) / t_quantile(number - 1, level)
    return float(min(size * few**2, n)) if number < n else float(n)
