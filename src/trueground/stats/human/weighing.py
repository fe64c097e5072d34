"""Every measure of a column in each resample of a block, from the weights of the units.

`weights` has the shape (resamples, units); each result has the shape (resamples,), NaN where it is
undefined. The sample itself is the resample in which all weights are 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueground.stats.human.column import Column, Kind
from trueground.stats.human.grades import ordinal_measures
from trueground.stats.human.types import Floats
from trueground.stats.human.verdicts import ratio, verdict_measures

_BINS = np.arange(1, 10) / 10


class Summed(NamedTuple):
    """A kind under the weights: summed up item by item (resamples, m + 1), and its moments.

    `mean` and `variance` are those of the standard scores, plain (divided by the weight).
    """

    upto: Floats
    mean: Floats
    variance: Floats

    @property
    def total(self) -> Floats:
        """The weight of the kind, shape (resamples,)."""
        return self.upto[:, -1]


def weigh(column: Column, weights: Floats) -> dict[str, Floats]:
    """Each of MEASURES, and "kind/statistic" for the scores by label and by grade."""
    negative, positive = (summed(kind, weights) for kind in column.kinds)
    n, p = negative.total, positive.total
    below = negative.upto[:, column.upto[0]], positive.upto[:, column.upto[1]]
    found = _ranked(*below)
    found["point_biserial"] = _point_biserial(column, negative, positive)
    if column.threshold is not None:
        fn, tn = below[1][:, column.below], below[0][:, column.below]
        found |= verdict_measures(p - fn, n - tn, fn, tn)
    if column.probability:
        found["calibration_error"] = _calibration_error(column.distinct, *below)
    for name, kind, sums in zip("01", column.kinds, (negative, positive), strict=True):
        found |= {f"{name}/{key}": one for key, one in _describe(kind, sums).items()}
    for number, kind in enumerate(column.grades):
        each = _describe(kind, summed(kind, weights))
        found |= {f"grade {number}/{key}": one for key, one in each.items()}
    if column.ordinal and column.n:
        found |= ordinal_measures(column, weights)
    return found


def summed(kind: Kind, weights: Floats) -> Summed:
    """The weights of the kind's items in the order of their scores, summed up."""
    each = np.take(weights, kind.unit, axis=1)
    upto = np.empty((len(weights), kind.n + 1))
    upto[:, 0] = 0.0
    np.cumsum(each, axis=1, out=upto[:, 1:])
    total = upto[:, -1]
    mean = ratio(each @ kind.standard, total)
    square = ratio(each @ (kind.standard * kind.standard), total)
    variance = square - mean * mean
    # What is left of the squares by rounding alone is none: one score, drawn again and again.
    return Summed(upto, mean, np.where(variance > 1e-14 * square, variance, 0.0))


def _describe(kind: Kind, sums: Summed) -> dict[str, Floats]:
    """Mean, median and sample standard deviation of the scores."""
    size = kind.scale * kind.spread
    sample = ratio(sums.variance * sums.total, sums.total - 1.0)
    return {
        "mean": kind.scale * (kind.centre + kind.spread * sums.mean),
        "median": _median(kind.scores, sums.upto),
        "sd": np.where(kind.n > 1, np.sqrt(sample) * size, np.nan),
    }


def _median(scores: Floats, upto: Floats) -> Floats:
    """The middle score, or the mean of the two in the middle."""
    found = np.full(len(upto), np.nan)
    for i, row in enumerate(upto):
        total = row[-1]
        if total:
            middle = np.array([(total - 1) // 2, total // 2])
            low, high = scores[np.searchsorted(row, middle, "right") - 1]
            found[i] = low / 2 + high / 2
    return found


def _ranked(negative: Floats, positive: Floats) -> dict[str, Floats]:
    """What the order of the scores alone tells of a 0/1 label.

    Arguments: the weight below each place, shape (resamples, places + 1). With U = P · N · AUROC
    Spearman's covariance is U − PN/2, and Kendall's C − D is twice that.
    """
    n, p = negative[:, -1], positive[:, -1]
    here = np.diff(positive, axis=1)
    u = np.einsum("ij,ij->i", here, negative[:, 1:] + negative[:, :-1]) / 2
    here += np.diff(negative, axis=1)
    squares = np.einsum("ij,ij->i", here, here)
    here *= here * here
    cubes = here.sum(axis=1)
    total, pairs = n + p, n * p
    over = u - pairs / 2
    untied = (total * total - squares) / 2
    spread = ratio(pairs, total) * (total**3 - cubes) / 12
    share = ratio(np.ones(len(n)), n)[:, None] * negative
    share -= ratio(np.ones(len(p)), p)[:, None] * positive
    best = (1 + share.max(axis=1)) / 2
    return {
        "auroc": ratio(u, pairs),
        "spearman": _within(ratio(over, np.sqrt(np.where(untied > 0, spread, 0.0)))),
        "kendall": _within(ratio(2 * over, np.sqrt(untied * pairs))),
        "balanced_accuracy_best": np.where(untied > 0, best, np.nan),
    }


def _point_biserial(column: Column, negative: Summed, positive: Summed) -> Floats:
    """Pearson's correlation with a 0/1 label, from the moments of both kinds."""
    low, high = column.kinds
    n, p = negative.total, positive.total
    apart = high.centre - low.centre + high.spread * positive.mean - low.spread * negative.mean
    within = p * high.spread**2 * positive.variance + n * low.spread**2 * negative.variance
    between = ratio(n * p, n + p) * apart * apart
    return _within(np.sign(apart) * np.sqrt(ratio(between, within + between)))


def _calibration_error(distinct: Floats, negative: Floats, positive: Floats) -> Floats:
    """As stats.logistic.calibration_error: ten bins of equal weight, equal scores in one bin."""
    both = negative + positive
    total = both[:, -1]
    gap = np.diff(both, axis=1) * distinct - np.diff(positive, axis=1)
    found = np.full(len(both), np.nan)
    for i, row in enumerate(both):
        if total[i]:
            inner = np.searchsorted(row, total[i] * _BINS, "left")
            starts = np.unique(np.append(0, inner[inner < len(distinct)]))
            found[i] = np.abs(np.add.reduceat(gap[i], starts)).sum() / total[i]
    return found


def _within(values: Floats) -> Floats:
    return np.clip(values, -1.0, 1.0)
