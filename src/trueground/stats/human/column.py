"""One score against one label, sorted once, so that a resample is only a set of weights.

Items with equal scores share a place. A resample gives each unit (an item, or a cluster of items) a
whole-number weight; every statistic comes from the weights summed up in the order of the scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueground.errors import InputError
from trueground.stats.arithmetic.sums import sum_counts
from trueground.stats.bootstrap import Floats, Ints, Mask

GRADES = 20  # more labels than this are a scale, and have no statistics label by label
_INNER = np.arange(1, 10) / 10
Clusters = NDArray[Any] | Sequence[Any]


class LabelGroup:
    """The items with one label in the order of their scores; `unit` and `scores` have shape (m,).

    A score is `scale · (center + spread · standard)`, `standard` from -1 to 1, so that sums of
    squares neither overflow nor lose the digits of a narrow spread. `powers` (m, 2) are these and
    their squares.
    """

    def __init__(self, label: float, scores: Floats, unit: Ints, scale: float) -> None:
        order = np.argsort(scores, kind="stable")
        self.label, self.n, self.scale = label, len(scores), scale
        self.scores, self.unit = scores[order], unit[order]
        unscaled = self.scores / scale
        self.center = float(unscaled[0] / 2 + unscaled[-1] / 2) if len(scores) else 0.0
        deviation = unscaled - self.center
        self.spread = float(np.abs(deviation).max(initial=0.0)) or 1.0
        standard = deviation / self.spread
        self.powers = np.stack((standard, standard * standard), axis=1)


class RankBit(NamedTuple):
    """The items by one bit of their label's rank: the units that have it not (`low`) and have it.

    Both in the order of (higher bits, score). For each high item `under` and `upto` are how many
    low ones stand before its score and up to it, `first` and `last` before and up to the last of
    its higher bits.
    """

    low: Ints
    high: Ints
    under: Ints
    upto: Ints
    first: Ints
    last: Ints


class GradedLabels:
    """The items in the order of their scores, and the ranks of their labels, prepared once.

    `unit`, `place` and `code` (n,) are an item's unit, distinct score and distinct label; `places`
    and `codes` are where each of these begins, `by_code` the units in the order of the labels.
    `cells` has the units in the order of their cells (grade nearest to the score, grade of the
    label), where each cell begins, and both its grades; None where scores leave the scale of the
    labels.
    """

    def __init__(self, place: Ints, scores: Floats, labels: Floats, unit: Ints) -> None:
        values, code = np.unique(labels, return_inverse=True)
        code = code.reshape(-1).astype(np.int64)
        order, by_code = np.argsort(place, kind="stable"), np.argsort(code, kind="stable")
        self.unit, self.place, self.code = unit[order], place[order], code[order]
        self.places, self.codes = _starts(self.place), _starts(code[by_code])
        self.by_code = unit[by_code]
        bits = range(int(code.max(initial=0)).bit_length())
        self.bits = [_rank_bit(place, code, unit, bit) for bit in bits]
        self.cells = _cells(scores, values, code, unit)


class LabeledScores:
    """The items that have both a score and a label, of which neither is NaN.

    `distinct` (places,) are the scores; `place` (n,) is each item's; `upto[k]` (places + 1,) is how
    many items stand below place k, for the negatives and for the positives (`kinds`). `below` is
    the number of places whose verdict is no; `scale` is there in ordinal mode, `bins` (where bins
    of the calibration error begin and end) for probabilities. `alone`: each item is drawn by
    itself, not with its group.
    """

    def __init__(
        self,
        scores: Floats,
        labels: Floats,
        unit: Ints,
        *,
        positive_above: float,
        ordinal: bool,
        threshold: float | None = None,
        probability: bool = False,
        at_least: bool = False,
    ) -> None:
        known = ~(np.isnan(scores) | np.isnan(labels))
        self.scores, self.labels, self.unit = scores[known], labels[known], unit[known]
        self.n, self.threshold, self.at_least = len(self.scores), threshold, at_least
        self.ordinal = ordinal
        self.alone = len(np.unique(self.unit)) == self.n
        self.distinct, place = np.unique(self.scores, return_inverse=True)
        self.place: Ints = place.reshape(-1).astype(np.int64)
        self.positive: Mask = self.labels > positive_above
        self.upto = self._count_upto(~self.positive), self._count_upto(self.positive)
        scale = float(np.abs(self.scores).max(initial=0.0)) or 1.0

        def group(label: float, members: Mask) -> LabelGroup:
            return LabelGroup(label, self.scores[members], self.unit[members], scale)

        self.kinds = group(0.0, ~self.positive), group(1.0, self.positive)
        grades = np.unique(self.labels) if ordinal else self.labels[:0]
        grades = grades if len(grades) <= GRADES else grades[:0]
        self.grades = [group(grade, self.labels == grade) for grade in grades.tolist()]
        side: Any = "left" if at_least else "right"
        self.below = 0
        if threshold is not None:
            self.below = int(np.searchsorted(self.distinct, threshold, side))
        graded = (self.place, self.scores, self.labels, self.unit)
        self.scale = GradedLabels(*graded) if ordinal else None
        inside = self.n and self.distinct[0] >= 0.0 and self.distinct[-1] <= 1.0
        self.bins = self._bin_edges() if probability and inside else None

    def _count_upto(self, members: Mask) -> Ints:
        counts = np.bincount(self.place[members], minlength=len(self.distinct))
        return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)

    def _bin_edges(self) -> Ints:
        """Ten bins of equal size, as in stats.calibration; equal scores stay in one bin."""
        upto = self.upto[0] + self.upto[1]
        inner = np.searchsorted(upto, upto[-1] * _INNER, "left")
        return np.unique(np.concatenate(([0], inner, [len(upto) - 1]))).astype(np.int64)


def number_units(n: int, clusters: Clusters | None) -> tuple[Ints, int]:
    """(the number of each item's unit, how many units there are). InputError for another length."""
    if clusters is None:
        return np.arange(n), n
    if len(clusters) != n:
        raise InputError(f"{len(clusters)} clusters for {n} labels; expected one for each")
    _, unit = np.unique(np.asarray(clusters), return_inverse=True)
    return unit.reshape(-1).astype(np.int64), int(unit.max(initial=-1)) + 1


def check_numbers(name: str, scores: Floats, labels: Floats) -> None:
    """InputError where there is not one score for each label, or where one is infinite."""
    if scores.ndim != 1 or scores.shape != labels.shape:
        raise InputError(
            f"{name}: scores of shape {scores.shape}, labels of shape {labels.shape}; "
            "expected one number for each item"
        )
    for kind, values in (("scores", scores), ("labels", labels)):
        if bad := sum_counts(np.isinf(values)):
            raise InputError(
                f"{name}: {bad} of {len(values)} {kind} are infinite; pass NaN to leave them out"
            )


def _starts(ordered: Ints) -> Ints:
    return np.flatnonzero(np.diff(ordered, prepend=-1)).astype(np.int64)


def _rank_bit(place: Ints, code: Ints, unit: Ints, bit: int) -> RankBit:
    prefix, up = code >> (bit + 1), ((code >> bit) & 1).astype(np.bool_)
    order = np.lexsort((place, prefix))
    low, high = order[~up[order]], order[up[order]]
    run = prefix * (int(place.max()) + 1) + place
    bounds = [
        np.searchsorted(key[low], key[high], side)
        for key in (run, prefix)
        for side in ("left", "right")
    ]
    return RankBit(unit[low], unit[high], *bounds)


def _cells(
    scores: Floats, values: Floats, code: Ints, unit: Ints
) -> tuple[Ints, Ints, Ints, Ints] | None:
    """`values` are the grades; of two that are equally near to a score the lower is taken."""
    if not len(values) or scores.min() < values[0] or scores.max() > values[-1]:
        return None
    last = len(values) - 1
    above = np.clip(np.searchsorted(values, scores), min(1, last), last)
    under = np.maximum(above - 1, 0)
    nearest = np.where(values[above] - scores < scores - values[under], above, under)
    cell = nearest * len(values) + code
    order = np.argsort(cell, kind="stable")
    starts = _starts(cell[order])
    return (unit[order], starts, *np.divmod(cell[order][starts], len(values)))
