"""Every measure of a column in each resample of a block, from the weights of the units.

Weights have the shape (resamples, units), each result has the shape (resamples,), NaN where it is
undefined. The sample itself is the resample in which all weights are 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueground.stats.human.binary import ranked
from trueground.stats.human.column import Column, Kind
from trueground.stats.human.confusion import confusion_measures, ratio
from trueground.stats.human.ordinal import ordinal_measures, rank_measures
from trueground.stats.human.scratch import Counts, Scratch, Weights
from trueground.stats.human.types import Floats


class Summed(NamedTuple):
    """A kind under the weights: summed up item by item (resamples, m + 1), and its moments.

    `total` is the weight of the kind; `mean` and `variance` are those of the standard scores, plain
    (divided by the weight). All three have the shape (resamples,).
    """

    upto: Counts
    total: Floats
    mean: Floats
    variance: Floats


def weigh(column: Column, weights: Weights, scratch: Scratch) -> dict[str, Floats]:
    """MEASURES, and "kind/statistic" for the scores by label and by grade.

    The best balanced accuracy is not among them, and the calibration error is there as its gaps.
    """
    sums = [
        summed(kind, weights, scratch, name)
        for kind, name in zip(column.kinds, ("negative", "positive"), strict=True)
    ]
    negative, positive = sums
    below = (
        scratch.floats("negative below", scratch.take("below", negative.upto, column.upto[0])),
        scratch.floats("positive below", scratch.take("below", positive.upto, column.upto[1])),
    )
    probability = None if column.bins is None else (column.distinct, column.bins)
    found = ranked(below[0], below[1], probability, scratch)
    found["point_biserial"] = _point_biserial(column, negative, positive)
    if column.threshold is not None:
        tn, fn = (one[:, column.below] for one in below)
        found |= confusion_measures(positive.total - fn, negative.total - tn, fn, tn)
    for name, kind, one in zip("01", column.kinds, sums, strict=True):
        found |= {f"{name}/{key}": value for key, value in _describe(kind, one).items()}
    for number, kind in enumerate(column.grades):
        each = _describe(kind, summed(kind, weights, scratch, "grade"))
        found |= {f"grade {number}/{key}": value for key, value in each.items()}
    if column.scale is not None and column.n:
        found |= ordinal_measures(column.scale, weights, column.threshold is not None, scratch)
    return found


def weigh_ranks(column: Column, weights: Weights, scratch: Scratch) -> dict[str, Floats]:
    """AUROC and Spearman's ρ alone, for which much less is to be summed up."""
    below = []
    for kind, upto, name in zip(column.kinds, column.upto, ("negative", "positive"), strict=True):
        counts = scratch.summed_up(name, scratch.take("counts", weights.counts, kind.unit))
        below.append(scratch.floats(f"{name} below", scratch.take("below", counts, upto)))
    found = ranked(below[0], below[1], None, scratch)
    if column.scale is not None and column.n:
        found |= rank_measures(column.scale, weights, scratch)
    return {name: found[name] for name in ("auroc", "spearman")}


def summed(kind: Kind, weights: Weights, scratch: Scratch, name: str) -> Summed:
    """The weights of the kind's items in the order of their scores, summed up."""
    counts = scratch.take("counts", weights.counts, kind.unit)
    upto = scratch.summed_up(name, counts)
    total = upto[:, -1].astype(np.float64)
    moments = scratch.floats("each", counts) @ kind.powers
    mean, square = ratio(moments[:, 0], total), ratio(moments[:, 1], total)
    variance = square - mean * mean
    # What is left of the squares by rounding alone is none: one score, drawn again and again.
    variance = np.where(variance > 1e-14 * square, variance, 0.0)
    return Summed(upto, total, mean, variance)


def _describe(kind: Kind, sums: Summed) -> dict[str, Floats]:
    """Mean, median and sample standard deviation of the scores."""
    size = kind.scale * kind.spread
    sample = ratio(sums.variance * sums.total, sums.total - 1.0)
    return {
        "mean": kind.scale * (kind.centre + kind.spread * sums.mean),
        "median": _median(kind.scores, sums),
        "sd": np.where(kind.n > 1, np.sqrt(sample) * size, np.nan),
    }


def _median(scores: Floats, sums: Summed) -> Floats:
    """The middle score, or the mean of the two in the middle."""
    total = sums.total
    middle = np.stack(((total - 1) // 2, total // 2), axis=1)
    place = np.zeros(middle.shape, np.int64)
    some = total > 0
    for i in np.flatnonzero(some):
        place[i] = sums.upto[i].searchsorted(middle[i], "right") - 1
    found = np.full(len(total), np.nan)
    found[some] = (scores[place[some]] / 2).sum(axis=1)
    return found


def _point_biserial(column: Column, negative: Summed, positive: Summed) -> Floats:
    """Pearson's correlation with a 0/1 label, from the moments of both kinds."""
    low, high = column.kinds
    n, p = negative.total, positive.total
    apart = high.centre - low.centre + high.spread * positive.mean - low.spread * negative.mean
    within = p * high.spread**2 * positive.variance + n * low.spread**2 * negative.variance
    between = ratio(n * p, n + p) * apart * apart
    return np.asarray(np.sign(apart) * np.sqrt(ratio(between, within + between)), np.float64)
