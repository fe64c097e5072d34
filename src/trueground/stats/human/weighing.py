"""Every measure of a column in each resample of units, from weights, a block at a time.

The draws of a group of resamples depend on the seed, the number of units and the number of the
group only: not on the statistics, the blocks or the threads. Columns that are weighed together thus
share their resamples, and so do all calls with the same units and seed. The sample itself is the
resample in which all weights are 1. Each result has the shape (resamples,), NaN where undefined.

The score's verdict and the label are two raters: Cohen's κ, Fleiss' κ and Krippendorff's α here are
those of stats.agreement, written for many tables of counts at once.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueground.stats.arithmetic.sums import (
    dot_count_rows,
    exact_product,
    group_counts,
    sum_count_rows,
)
from trueground.stats.bootstrap import Floats, Ints, ratio
from trueground.stats.human.column import GradedLabels, LabeledScores, LabelGroup, RankBit
from trueground.stats.thresholds import measures

GROUP = 8
GAP = "gap "
_CELLS = 1 << 18  # weights of a block that stay in the cache of a core
_WORTH_THREADS = 1 << 21
Counts = NDArray[np.int32]


class Draws:
    """How often each unit was drawn, (resamples, units), and arrays for what comes of it, by name.

    Fresh arrays of this size cost more than the arithmetic: `buffers` are those of a thread, used
    again from block to block. Sums of whole numbers are faster: there are `counts` and the same as
    `floats`.
    """

    def __init__(
        self, counts: NDArray[Any], buffers: dict[tuple[str, type], NDArray[Any]] | None = None
    ) -> None:
        self.counts: Counts = counts.astype(np.int32)
        self.floats: Floats = counts.astype(np.float64)
        self._buffers = {} if buffers is None else buffers

    def __len__(self) -> int:
        return len(self.counts)

    def empty(self, name: str, rows: int, size: int, dtype: type = np.float64) -> NDArray[Any]:
        """An array (rows, size) of no set content; the next call with this name overwrites it."""
        flat = self._buffers.get((name, dtype))
        if flat is None or flat.size < rows * size:
            flat = self._buffers[name, dtype] = np.empty(rows * size, dtype)
        return flat[: rows * size].reshape(rows, size)

    def take(self, name: str, values: NDArray[Any], index: Ints) -> NDArray[Any]:
        """values[:, index], shape (rows, len(index)), in the array of this name."""
        out = self.empty(name, len(values), len(index), values.dtype.type)
        return np.take(values, index, axis=1, out=out, mode="clip") if len(index) else out

    def cumulate(self, name: str, counts: Counts) -> Counts:
        """The sums of none, of the first, of the first two … of a row, shape (rows, size + 1)."""
        out = self.empty(name, len(counts), counts.shape[1] + 1, np.int32)
        out[:, 0] = 0
        np.cumsum(counts, axis=1, out=out[:, 1:])
        return out

    def as_floats(self, name: str, values: NDArray[Any]) -> Floats:
        """The values as floating-point numbers, in the array of this name."""
        out = self.empty(name, *values.shape)
        out[...] = values
        return out


Weigh = Callable[[LabeledScores, Draws], dict[str, Floats]]


def weigh_once(weigh: Weigh, column: LabeledScores, units: int) -> dict[str, Floats]:
    """Each statistic of the sample itself, shape (1,)."""
    return weigh(column, Draws(np.ones((1, units))))


def resample(
    weigh: Weigh,
    columns: Sequence[LabeledScores],
    units: int,
    *,
    resamples: int,
    seed: int,
    workers: int | None = None,
) -> list[dict[str, Floats]]:
    """Each statistic of each column in each resample, shape (resamples,).

    `workers` threads share the resamples; by default as many as there are cores.
    """
    results = [
        {name: np.full(resamples, np.nan) for name in weigh_once(weigh, one, units)}
        for one in columns
    ]
    if not units or not resamples:
        return results
    longest = max((one.n for one in columns), default=0)
    rows = max(1, _CELLS // max(longest, units))
    groups = max(1, rows // GROUP)
    local = threading.local()

    def weigh_block(first: int) -> None:
        buffers = local.__dict__.setdefault("buffers", {})
        last = min(first + groups, -(-resamples // GROUP))
        parts = [group_weights(units, number, seed) for number in range(first, last)]
        weights = np.concatenate(parts)[: resamples - first * GROUP]
        for low in range(0, len(weights), rows):
            draws = Draws(weights[low : low + rows], buffers)
            here = slice(first * GROUP + low, first * GROUP + low + len(draws))
            for one, own in zip(columns, results, strict=True):
                for name, values in weigh(one, draws).items():
                    own[name][here] = values

    blocks = range(0, -(-resamples // GROUP), groups)
    if workers is None:
        cores = getattr(os, "sched_getaffinity", None)
        workers = len(cores(0)) if cores else os.cpu_count() or 1
    if workers == 1 or longest * resamples * len(columns) < _WORTH_THREADS:
        for first in blocks:
            weigh_block(first)
    else:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(weigh_block, blocks))
    return results


def group_weights(units: int, group: int, seed: int) -> Counts:
    """How often each unit was drawn in the resamples of a group, shape (GROUP, units)."""
    random = np.random.Generator(np.random.SFC64([seed, group]))
    draws = random.integers(0, units, (GROUP, units))
    return np.stack([np.bincount(drawn, minlength=units) for drawn in draws]).astype(np.int32)


class _GroupSums(NamedTuple):
    """A label group under the weights: cumulated item by item (resamples, m + 1), and its moments.

    `total` is its weight; `mean` and `variance` (by the weight) are of the standard scores.
    """

    upto: Counts
    total: Floats
    mean: Floats
    variance: Floats


def weigh(column: LabeledScores, draws: Draws) -> dict[str, Floats]:
    """MEASURES, and "kind/statistic" for the scores by label and by grade.

    The best balanced accuracy is not among them, and the calibration error is there as its gaps.
    """
    names = ("negative", "positive")
    sums = [_sum_group(*one, draws) for one in zip(names, column.kinds, strict=True)]
    negative, positive = sums
    below = [  # the weights below each place, (resamples, places + 1)
        draws.as_floats(f"{name} below", draws.take("below", one.upto, upto))
        for name, one, upto in zip(names, sums, column.upto, strict=True)
    ]
    results = _binary_measures(column, below[0], below[1], draws)
    results["point_biserial"] = _point_biserial(column, negative, positive)
    if column.threshold is not None:
        tn, fn = (one[:, column.below] for one in below)
        results |= confusion_measures(positive.total - fn, negative.total - tn, fn, tn)
    for label, group, one in zip("01", column.kinds, sums, strict=True):
        results |= _describe(label, group, one)
    for number, group in enumerate(column.grades):
        results |= _describe(f"grade {number}", group, _sum_group("grade", group, draws))
    if column.scale is not None and column.n:
        results |= rank_measures(column.scale, draws)
        if column.threshold is not None:
            results["krippendorff_alpha"] = _ordinal_alpha(column.scale, draws)
    return results


def confusion_measures(tp: Any, fp: Any, fn: Any, tn: Any) -> dict[str, Floats]:
    """Every measure of these counts; all arguments and results are numbers, or of shape (k,).

    The κs and α are NaN where both give the same verdict of everything.
    """
    tp, fp, fn, tn = (np.asarray(count, np.float64) for count in (tp, fp, fn, tn))
    p, n = tp + fn, fp + tn
    total, yes = p + n, tp + fp
    known = measures(tp, fp, p, n)
    agree = known["accuracy"]
    mixed = (p + yes > 0) & (n + total - yes > 0)
    share = ratio(p + yes, 2 * total)
    pooled = share * share + (1 - share) * (1 - share)
    # Twice the disagreements, times the labels but one, over twice the pairs of unlike labels.
    apart = (fp + fn) * (2 * total - 1)
    unlike = (p + yes) * (n + total - yes)
    return {
        "balanced_accuracy": known["balanced_accuracy"],
        "matthews": known["matthews"],
        "cohen_kappa": known["kappa"],
        "fleiss_kappa": np.where(mixed, ratio(agree - pooled, 1 - pooled), np.nan),
        "krippendorff_alpha": 1 - ratio(apart, unlike),
        "raw_agreement": agree,
        "false_negative_rate": ratio(fn, p),
        "false_positive_rate": ratio(fp, n),
    }


def rank_measures(scale: GradedLabels, draws: Draws) -> dict[str, Floats]:
    """Spearman's ρ and Kendall's τ-b of one item or more, against labels of several grades.

    Kendall's C − D is summed bit by bit: of two labels with different ranks the order shows at the
    highest bit in which the ranks differ, so pairs are counted among the items that share all
    higher bits, in the order of the scores. That takes log₂(grades) passes over the items, however
    many grades there are.
    """
    each = draws.take("each", draws.floats, scale.unit)
    scores = group_counts(each, scale.places, axis=1)
    by_code = draws.take("other", draws.floats, scale.by_code)
    grades = group_counts(by_code, scale.codes, axis=1)
    total = sum_count_rows(each)
    square, cube = _largest_powers(total)
    free = [(total * total - dot_count_rows(t, t, square)) / 2 for t in (scores, grades)]
    product = each  # of the weights and both average ranks, measured from the middle rank
    for name, t, code in zip("xy", (scores, grades), (scale.place, scale.code), strict=True):
        ranks = np.cumsum(t, axis=1) - t / 2 - total[:, None] / 2
        own = draws.take(f"ranks {name}", ranks, code)
        product = np.multiply(product, own, out=own)
    spread = [total * total * total - dot_count_rows(t * t, t, cube) for t in (scores, grades)]
    rho = ratio(12 * sum_count_rows(product, cube), np.sqrt(spread[0] * spread[1]))
    order = np.zeros(len(draws))
    for bit in scale.bits:
        order += _weigh_bit(bit, draws, 4 * square)
    tau = ratio(order, np.sqrt(free[0] * free[1]))
    both = (free[0] > 0) & (free[1] > 0)
    return {
        "spearman": np.where(both, np.clip(rho, -1, 1), np.nan),
        "kendall": np.where(both, np.clip(tau, -1, 1), np.nan),
    }


def _largest_powers(total: Floats) -> tuple[float, float]:
    """Return the largest total weight squared and cubed: no sum of such products exceeds them."""
    largest = float(total.max(initial=0.0))
    return largest * largest, largest * largest * largest


def _weigh_bit(bit: RankBit, draws: Draws, limit: float) -> Floats:
    """Concordant less discordant pairs that this bit tells, by weight."""
    low = draws.cumulate("low", draws.take("counts", draws.counts, bit.low))
    high = draws.take("other", draws.floats, bit.high)
    apart = draws.as_floats("ranks x", draws.take("low at", low, bit.under))
    apart += draws.take("low at", low, bit.upto)
    apart -= draws.take("low at", low, bit.first)
    apart -= draws.take("low at", low, bit.last)
    return dot_count_rows(high, apart, limit)


def _ordinal_alpha(scale: GradedLabels, draws: Draws) -> Floats:
    """Krippendorff's ordinal α of two raters: the label, and the grade nearest to the score."""
    if scale.cells is None:
        return np.full(len(draws), np.nan)
    unit, starts, nearest, label = scale.cells
    cells = group_counts(draws.take("each", draws.floats, unit), starts, axis=1)
    by_grade = np.zeros((len(scale.codes), len(draws)))
    np.add.at(by_grade, nearest, cells.T)
    np.add.at(by_grade, label, cells.T)
    counts = np.ascontiguousarray(by_grade.T)
    n = sum_count_rows(counts)
    _, cube = _largest_powers(n)
    ranks = np.cumsum(counts, axis=1) - counts / 2 - n[:, None] / 2
    between = ranks[:, nearest] - ranks[:, label]
    apart = dot_count_rows(cells, between * between, cube)
    return 1 - ratio(apart * (n - 1), n * dot_count_rows(counts, ranks * ranks, cube))


def _binary_measures(
    column: LabeledScores, negative: Floats, positive: Floats, draws: Draws
) -> dict[str, Floats]:
    """AUROC, ρ, τ-b and the gaps of the calibration error, from the weights below each place.

    With U = P · N · AUROC Spearman's covariance is U − PN/2, and Kendall's C − D is twice that.
    A gap is what the scores of a bin promise less what its labels hold, as a share of all items.
    """
    rows, size = negative.shape
    n, p = negative[:, -1].copy(), positive[:, -1].copy()
    pairs, total = n * p, n + p
    # U is the area under the steps (negative, positive), here as the sum of its triangles.
    square, cube = _largest_powers(total)
    turns = dot_count_rows(positive[:, 1:], negative[:, :-1], size * square)
    turns -= dot_count_rows(positive[:, :-1], negative[:, 1:], size * square)
    u = (pairs + turns) / 2
    both = np.add(negative, positive, out=draws.empty("both", rows, size))
    here = np.subtract(both[:, 1:], both[:, :-1], out=draws.empty("here", rows, size - 1))
    work = draws.empty("work", rows, size - 1)
    results: dict[str, Floats] = {}
    if column.bins is not None:
        promised = _believed(here, column.distinct, column.bins, total)
        # A resample without any of the items has no gap.
        shares = 1.0 / np.where(total > 0, total, np.inf)
        gaps = (promised - np.diff(positive[:, column.bins], axis=1)) * shares[:, None]
        results = {f"{GAP}{number}": gap for number, gap in enumerate(gaps.T)}
    squares = np.multiply(here, here, out=work)
    untied = (total * total - sum_count_rows(squares, square)) / 2
    cubes = dot_count_rows(squares, here, cube)
    spread = ratio(pairs, total) * (total * total * total - cubes) / 12
    over = u - pairs / 2
    return results | {
        "auroc": ratio(u, pairs),
        "spearman": np.clip(ratio(over, np.sqrt(np.where(untied > 0, spread, 0.0))), -1, 1),
        "kendall": np.clip(ratio(2 * over, np.sqrt(untied * pairs)), -1, 1),
    }


def _believed(here: Floats, scores: Floats, bins: Ints, total: Floats) -> Floats:
    """Return the sum of the weighted scores of each bin, shape (resamples, bins)."""
    limit = int(total.max(initial=0.0))
    sums = [
        exact_product(scores[None, low:high], here[:, low:high].T, limit)[0]
        for low, high in pairwise(bins.tolist())
    ]
    return np.stack(sums, axis=1)


def _sum_group(name: str, group: LabelGroup, draws: Draws) -> _GroupSums:
    counts = draws.take("counts", draws.counts, group.unit)
    upto = draws.cumulate(name, counts)
    total = upto[:, -1].astype(np.float64)
    limit = int(total.max(initial=0.0))
    moments = exact_product(group.powers.T, draws.as_floats("each", counts).T, limit)
    mean, square = ratio(moments[0], total), ratio(moments[1], total)
    variance = square - mean * mean
    # What is left of the squares by rounding alone is none: one score, drawn again and again.
    variance = np.where(variance > 1e-14 * square, variance, 0.0)
    return _GroupSums(upto, total, mean, variance)


def _describe(name: str, group: LabelGroup, sums: _GroupSums) -> dict[str, Floats]:
    total = sums.total
    middle = np.stack(((total - 1) // 2, total // 2), axis=1)
    place = np.zeros(middle.shape, np.int64)
    some = total > 0
    for i in np.flatnonzero(some):
        place[i] = sums.upto[i].searchsorted(middle[i], "right") - 1
    median = np.full(len(total), np.nan)
    two = group.scores[place[some]] / 2
    median[some] = two[:, 0] + two[:, 1]
    size = group.scale * group.spread
    sample = ratio(sums.variance * total, total - 1.0)
    return {
        f"{name}/mean": group.scale * (group.center + group.spread * sums.mean),
        f"{name}/median": median,
        f"{name}/sd": np.where(group.n > 1, np.sqrt(sample) * size, np.nan),
    }


def _point_biserial(column: LabeledScores, negative: _GroupSums, positive: _GroupSums) -> Floats:
    """Pearson's correlation with a 0/1 label, from the moments of both groups."""
    low, high = column.kinds
    n, p = negative.total, positive.total
    apart = high.center - low.center + high.spread * positive.mean - low.spread * negative.mean
    within_high = p * high.spread * high.spread * positive.variance
    within_low = n * low.spread * low.spread * negative.variance
    between = ratio(n * p, n + p) * apart * apart
    share = ratio(between, within_high + within_low + between)
    return np.asarray(np.sign(apart) * np.sqrt(share), np.float64)
