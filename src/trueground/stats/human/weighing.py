"""Every measure of a column in each resample of a block, from the weights of the units.

Weights have the shape (resamples, units), each result has the shape (resamples,), NaN where it is
undefined. The sample itself is the resample in which all weights are 1.

The score's verdict and the label are two raters: Cohen's κ, Fleiss' κ and Krippendorff's α here are
those of stats.agreement, written for many tables of counts at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from trueground.stats.bootstrap import Floats
from trueground.stats.human.calibration import weigh_gaps
from trueground.stats.human.column import GradedLabels, LabelGroup, LabelledScores, RankBit
from trueground.stats.human.resampling import Counts, DrawCounts, Scratch, dot_rows, ratio


class _GroupSums(NamedTuple):
    """A label group under the weights: cumulated item by item (resamples, m + 1), and its moments.

    `total` is the weight of the group; `mean` and `variance` are those of the standard scores,
    plain (divided by the weight). All three have the shape (resamples,).
    """

    upto: Counts
    total: Floats
    mean: Floats
    variance: Floats


def weigh(column: LabelledScores, weights: DrawCounts, scratch: Scratch) -> dict[str, Floats]:
    """MEASURES, and "kind/statistic" for the scores by label and by grade.

    The best balanced accuracy is not among them, and the calibration error is there as its gaps.
    """
    sums = [
        _sum_group(group, weights, scratch, name)
        for group, name in zip(column.kinds, ("negative", "positive"), strict=True)
    ]
    negative, positive = sums
    below = _weights_below(column, [one.upto for one in sums], scratch)
    results = _binary_measures(column, *below, scratch)
    results["point_biserial"] = _point_biserial(column, negative, positive)
    if column.threshold is not None:
        tn, fn = (one[:, column.below] for one in below)
        results |= confusion_measures(positive.total - fn, negative.total - tn, fn, tn)
    for name, group, one in zip("01", column.kinds, sums, strict=True):
        results |= _describe(name, group, one)
    for number, group in enumerate(column.grades):
        one = _sum_group(group, weights, scratch, "grade")
        results |= _describe(f"grade {number}", group, one)
    if column.scale is not None and column.n:
        results |= rank_measures(column.scale, weights, scratch)
        if column.threshold is not None:
            results["krippendorff_alpha"] = _ordinal_alpha(column.scale, weights, scratch)
    return results


def weigh_ranks(column: LabelledScores, weights: DrawCounts, scratch: Scratch) -> dict[str, Floats]:
    """AUROC and Spearman's ρ alone, which need much less summing up."""
    upto = [
        scratch.cumulate(name, scratch.take("counts", weights.counts, group.unit))
        for group, name in zip(column.kinds, ("negative", "positive"), strict=True)
    ]
    below = _weights_below(column, upto, scratch)
    results = _binary_measures(column, *below, scratch, gaps=False)
    if column.scale is not None and column.n:
        results |= rank_measures(column.scale, weights, scratch)
    return {name: results[name] for name in ("auroc", "spearman")}


def confusion_measures(tp: Any, fp: Any, fn: Any, tn: Any) -> dict[str, Floats]:
    """Every measure of these counts; all arguments and results are numbers, or of shape (k,).

    The κs and α are NaN where both give the same verdict of everything.
    """
    tp, fp, fn, tn = (np.asarray(count, np.float64) for count in (tp, fp, fn, tn))
    p, n = tp + fn, fp + tn
    total, yes = p + n, tp + fp
    agree = ratio(tp + tn, total)
    mixed = (p + yes > 0) & (n + total - yes > 0)
    by_chance = ratio(p * yes + n * (total - yes), total * total)
    share = ratio(p + yes, 2 * total)
    pooled = share * share + (1 - share) ** 2
    # Twice the disagreements, times the labels but one, over twice the pairs of unlike labels.
    apart = (fp + fn) * (2 * total - 1)
    unlike = (p + yes) * (n + total - yes)
    return {
        "balanced_accuracy": (ratio(tp, p) + ratio(tn, n)) / 2,
        "matthews": ratio(tp * tn - fp * fn, np.sqrt(p * n * yes * (total - yes))),
        "cohen_kappa": np.where(mixed, ratio(agree - by_chance, 1 - by_chance), np.nan),
        "fleiss_kappa": np.where(mixed, ratio(agree - pooled, 1 - pooled), np.nan),
        "krippendorff_alpha": 1 - ratio(apart, unlike),
        "raw_agreement": agree,
        "false_negative_rate": ratio(fn, p),
        "false_positive_rate": ratio(fp, n),
    }


def rank_measures(scale: GradedLabels, weights: DrawCounts, scratch: Scratch) -> dict[str, Floats]:
    """Spearman's ρ and Kendall's τ-b of one item or more, against labels of several grades.

    Kendall's C − D is summed bit by bit: of two labels with different ranks the order shows at the
    highest bit in which the ranks differ, so pairs are counted among the items that share all
    higher bits, in the order of the scores. That takes log₂(grades) passes over the items, however
    many grades there are.
    """
    each = scratch.take("each", weights.floats, scale.unit)
    scores = np.add.reduceat(each, scale.places, axis=1)
    by_code = scratch.take("other", weights.floats, scale.by_code)
    grades = np.add.reduceat(by_code, scale.codes, axis=1)
    total = each.sum(axis=1)
    free = [(total * total - dot_rows(t, t)) / 2 for t in (scores, grades)]
    product = each  # of the weights and both average ranks, measured from the middle rank
    for name, t, code in zip("xy", (scores, grades), (scale.place, scale.code), strict=True):
        ranks = np.cumsum(t, axis=1) - t / 2 - total[:, None] / 2
        own = scratch.take(f"ranks {name}", ranks, code)
        product = np.multiply(product, own, out=own)
    spread = [total**3 - dot_rows(t * t, t) for t in (scores, grades)]
    rho = ratio(12 * product.sum(axis=1), np.sqrt(spread[0] * spread[1]))
    order = np.zeros(len(weights))
    for bit in scale.bits:
        order += _weigh_bit(bit, weights, scratch)
    tau = ratio(order, np.sqrt(free[0] * free[1]))
    both = (free[0] > 0) & (free[1] > 0)
    return {
        "spearman": np.where(both, np.clip(rho, -1, 1), np.nan),
        "kendall": np.where(both, np.clip(tau, -1, 1), np.nan),
    }


def _weigh_bit(bit: RankBit, weights: DrawCounts, scratch: Scratch) -> Floats:
    """Concordant less discordant pairs that this bit tells, by weight."""
    low = scratch.cumulate("low", scratch.take("counts", weights.counts, bit.low))
    high = scratch.take("other", weights.floats, bit.high)
    below = scratch.take("ranks x", low, bit.under)
    below += scratch.take("ranks y", low, bit.upto)
    groups = np.add.reduceat(high, bit.starts, axis=1)
    ends = low[:, bit.first].astype(np.float64) + low[:, bit.last]
    return dot_rows(high, below) - dot_rows(groups, ends)


def _ordinal_alpha(scale: GradedLabels, weights: DrawCounts, scratch: Scratch) -> Floats:
    """Krippendorff's ordinal α of two raters: the label, and the grade nearest to the score."""
    if scale.cells is None:
        return np.full(len(weights), np.nan)
    unit, starts, nearest, label = scale.cells
    cells = np.add.reduceat(scratch.take("each", weights.floats, unit), starts, axis=1)
    by_grade = np.zeros((len(scale.codes), len(weights)))
    np.add.at(by_grade, nearest, cells.T)
    np.add.at(by_grade, label, cells.T)
    counts = np.ascontiguousarray(by_grade.T)
    n = counts.sum(axis=1)
    ranks = np.cumsum(counts, axis=1) - counts / 2 - n[:, None] / 2
    apart = dot_rows(cells, (ranks[:, nearest] - ranks[:, label]) ** 2)
    return 1 - ratio(apart * (n - 1), n * dot_rows(counts, ranks * ranks))


def _weights_below(
    column: LabelledScores, cumulated: list[Counts], scratch: Scratch
) -> tuple[Floats, Floats]:
    """The weights below each place, of the negatives and the positives (resamples, places + 1)."""
    negative, positive = (
        scratch.floats(f"{name} below", scratch.take("below", counts, upto))
        for name, counts, upto in zip(("negative", "positive"), cumulated, column.upto, strict=True)
    )
    return negative, positive


def _binary_measures(
    column: LabelledScores,
    negative: Floats,
    positive: Floats,
    scratch: Scratch,
    *,
    gaps: bool = True,
) -> dict[str, Floats]:
    """AUROC, ρ, τ-b and the gaps of the calibration error, from the weights below each place.

    With U = P · N · AUROC Spearman's covariance is U − PN/2, and Kendall's C − D is twice that.
    """
    rows, size = negative.shape
    n, p = negative[:, -1].copy(), positive[:, -1].copy()
    pairs, total = n * p, n + p
    # U is the area under the steps (negative, positive), here as the sum of its triangles.
    turns = dot_rows(positive[:, 1:], negative[:, :-1])
    turns -= dot_rows(positive[:, :-1], negative[:, 1:])
    u = (pairs + turns) / 2
    both = np.add(negative, positive, out=scratch.empty("both", rows, size))
    here = np.subtract(both[:, 1:], both[:, :-1], out=scratch.empty("here", rows, size - 1))
    results: dict[str, Floats] = {}
    if gaps and column.bins is not None:
        results |= weigh_gaps(here, positive, column.distinct, column.bins, scratch)
    squares = np.multiply(here, here, out=scratch.empty("work", rows, size - 1))
    untied = (total * total - squares.sum(axis=1)) / 2
    spread = ratio(pairs, total) * (total**3 - dot_rows(squares, here)) / 12
    over = u - pairs / 2
    return results | {
        "auroc": ratio(u, pairs),
        "spearman": np.clip(ratio(over, np.sqrt(np.where(untied > 0, spread, 0.0))), -1, 1),
        "kendall": np.clip(ratio(2 * over, np.sqrt(untied * pairs)), -1, 1),
    }


def _sum_group(group: LabelGroup, weights: DrawCounts, scratch: Scratch, name: str) -> _GroupSums:
    """The weights of the group's items in the order of their scores, cumulated."""
    counts = scratch.take("counts", weights.counts, group.unit)
    upto = scratch.cumulate(name, counts)
    total = upto[:, -1].astype(np.float64)
    moments = scratch.floats("each", counts) @ group.powers
    mean, square = ratio(moments[:, 0], total), ratio(moments[:, 1], total)
    variance = square - mean * mean
    # What is left of the squares by rounding alone is none: one score, drawn again and again.
    variance = np.where(variance > 1e-14 * square, variance, 0.0)
    return _GroupSums(upto, total, mean, variance)


def _describe(name: str, group: LabelGroup, sums: _GroupSums) -> dict[str, Floats]:
    """Mean, median and sample standard deviation of the scores."""
    total = sums.total
    middle = np.stack(((total - 1) // 2, total // 2), axis=1)
    place = np.zeros(middle.shape, np.int64)
    some = total > 0
    for i in np.flatnonzero(some):
        place[i] = sums.upto[i].searchsorted(middle[i], "right") - 1
    median = np.full(len(total), np.nan)
    median[some] = (group.scores[place[some]] / 2).sum(axis=1)
    size = group.scale * group.spread
    sample = ratio(sums.variance * total, total - 1.0)
    return {
        f"{name}/mean": group.scale * (group.centre + group.spread * sums.mean),
        f"{name}/median": median,
        f"{name}/sd": np.where(group.n > 1, np.sqrt(sample) * size, np.nan),
    }


def _point_biserial(column: LabelledScores, negative: _GroupSums, positive: _GroupSums) -> Floats:
    """Pearson's correlation with a 0/1 label, from the moments of both groups."""
    low, high = column.kinds
    n, p = negative.total, positive.total
    apart = high.centre - low.centre + high.spread * positive.mean - low.spread * negative.mean
    within = p * high.spread**2 * positive.variance + n * low.spread**2 * negative.variance
    between = ratio(n * p, n + p) * apart * apart
    return np.asarray(np.sign(apart) * np.sqrt(ratio(between, within + between)), np.float64)
