"""One score against one label, sorted once, so that a resample is only a set of weights.

Items with equal scores share a place. A resample gives each unit (an item, or a cluster of items) a
whole-number weight; every statistic comes from the weights summed up in the order of the scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trueground.errors import InputError
from trueground.stats.bootstrap import Floats, Ints, Mask

GRADES = 20  # more labels than this are a scale, and have no statistics label by label
_INNER = np.arange(1, 10) / 10
Clusters = NDArray[Any] | Sequence[Any]


@dataclass(frozen=True)
class LabelGroup:
    """The items with one label in the order of their scores, shape (m,).

    A score is `scale · (centre + spread · standard)`, `standard` from -1 to 1: sums of squares of
    these neither overflow nor lose the digits of a narrow spread. `powers` (m, 2) holds these and
    their squares.
    """

    label: float
    unit: Ints
    scores: Floats
    powers: Floats
    scale: float
    centre: float
    spread: float

    @property
    def n(self) -> int:
        """Number of items."""
        return len(self.unit)


@dataclass(frozen=True)
class RankBit:
    """The items by one bit of their label's rank: `low` have it not, `high` have it.

    Both are units, in the order of (higher bits, score). For each high item `under` and `upto` are
    how many low ones stand before its score and up to it; for each run of high items with equal
    higher bits, from `starts` on, `first` and `last` bound the low ones with these bits.
    """

    low: Ints
    high: Ints
    under: Ints
    upto: Ints
    starts: Ints
    first: Ints
    last: Ints


@dataclass(frozen=True)
class GradedLabels:
    """The items in the order of their scores, and the ranks of their labels, prepared once.

    `unit`, `place` and `code` (n,) are an item's unit, its distinct score and its distinct label;
    `places` and `codes` are where each of these begins, `by_code` the units in the order of the
    labels. `cells` has the units in the order of their cells (the grade nearest to the score, the
    grade of the label), where each cell begins, and both its grades; it is None where scores leave
    the scale of the labels.
    """

    unit: Ints
    place: Ints
    places: Ints
    code: Ints
    by_code: Ints
    codes: Ints
    bits: tuple[RankBit, ...]
    cells: tuple[Ints, Ints, Ints, Ints] | None


@dataclass(frozen=True)
class LabelledScores:
    """The items that have both a score and a label.

    `distinct` (places,) are the scores; `place` (n,) is each item's; `upto[k]` (places + 1,) is how
    many items stand below place k, for the negatives and for the positives. `below` is the number
    of places whose verdict is no: at or below the default threshold, with `at_least` below it;
    `scale` is there in ordinal mode, `bins` (the places where bins of the calibration error begin
    and end) for probabilities.
    """

    n: int
    unit: Ints
    labels: Floats
    positive: Mask
    distinct: Floats
    place: Ints
    kinds: tuple[LabelGroup, LabelGroup]
    upto: tuple[Ints, Ints]
    grades: tuple[LabelGroup, ...]
    threshold: float | None
    below: int
    scale: GradedLabels | None
    bins: Ints | None
    at_least: bool = False

    @property
    def ordinal(self) -> bool:
        """Whether the labels are taken as they are, not as 0/1."""
        return self.scale is not None

    @property
    def alone(self) -> bool:
        """Whether each item is drawn by itself, and not with others of its group."""
        return len(np.unique(self.unit)) == self.n

    @property
    def counts(self) -> Ints:
        """How many items have each distinct score, shape (places,)."""
        return np.diff(self.upto[0] + self.upto[1])

    @property
    def scores(self) -> Floats:
        """The score of each item, shape (n,)."""
        return self.distinct[self.place]


def label_scores(
    scores: Floats,
    labels: Floats,
    unit: Ints,
    *,
    positive_above: float,
    ordinal: bool,
    threshold: float | None = None,
    probability: bool = False,
    at_least: bool = False,
) -> LabelledScores:
    """The items of which neither is NaN; `unit` (n,) is the number of its unit."""
    known = ~(np.isnan(scores) | np.isnan(labels))
    scores, labels, unit = scores[known], labels[known], unit[known]
    distinct, place = np.unique(scores, return_inverse=True)
    place = place.reshape(-1).astype(np.int64)
    positive = labels > positive_above
    scale = float(np.abs(scores).max(initial=0.0)) or 1.0
    values = np.unique(labels) if ordinal else labels[:0]
    upto = _upto(place[~positive], len(distinct)), _upto(place[positive], len(distinct))
    side: Literal["left", "right"] = "left" if at_least else "right"
    inside = bool(len(distinct)) and distinct[0] >= 0.0 and distinct[-1] <= 1.0

    def group(label: float, members: Mask) -> LabelGroup:
        return _group(label, scores[members], unit[members], scale)

    return LabelledScores(
        n=len(scores),
        unit=unit,
        labels=labels,
        positive=positive,
        distinct=distinct,
        place=place,
        kinds=(group(0.0, ~positive), group(1.0, positive)),
        upto=upto,
        grades=tuple(group(float(v), labels == v) for v in values if len(values) <= GRADES),
        threshold=threshold,
        below=0 if threshold is None else int(np.searchsorted(distinct, threshold, side)),
        scale=_grade(place, scores, labels, unit) if ordinal else None,
        bins=_bin_edges(upto[0] + upto[1]) if probability and inside else None,
        at_least=at_least,
    )


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
        if bad := int(np.isinf(values).sum()):
            raise InputError(
                f"{name}: {bad} of {len(values)} {kind} are infinite; pass NaN to leave them out"
            )


def _group(label: float, scores: Floats, unit: Ints, scale: float) -> LabelGroup:
    order = np.argsort(scores, kind="stable")
    scores, unit = scores[order], unit[order]
    unscaled = scores / scale
    centre = float(unscaled[0] / 2 + unscaled[-1] / 2) if len(scores) else 0.0
    deviation = unscaled - centre
    spread = float(np.abs(deviation).max(initial=0.0)) or 1.0
    standard = deviation / spread
    powers = np.stack((standard, standard * standard), axis=1)
    return LabelGroup(label, unit, scores, powers, scale, centre, spread)


def _upto(place: Ints, places: int) -> Ints:
    return np.concatenate(([0], np.cumsum(np.bincount(place, minlength=places)))).astype(np.int64)


def _bin_edges(upto: Ints) -> Ints:
    """Where bins begin and end among the places: ten of equal size, as in stats.calibration.

    `upto` (places + 1,) is the number of items below each distinct score; equal scores stay in one
    bin.
    """
    inner = np.searchsorted(upto, upto[-1] * _INNER, "left")
    return np.unique(np.concatenate(([0], inner, [len(upto) - 1]))).astype(np.int64)


def _grade(place: Ints, scores: Floats, labels: Floats, unit: Ints) -> GradedLabels:
    """All arguments of shape (n,); `place` numbers the distinct scores."""
    values, code = np.unique(labels, return_inverse=True)
    code = code.reshape(-1).astype(np.int64)
    order, by_code = np.argsort(place, kind="stable"), np.argsort(code, kind="stable")
    highest = int(code.max(initial=0))
    return GradedLabels(
        unit=unit[order],
        place=place[order],
        places=_starts(place[order]),
        code=code[order],
        by_code=unit[by_code],
        codes=_starts(code[by_code]),
        bits=tuple(_rank_bit(place, code, unit, bit) for bit in range(highest.bit_length())),
        cells=_cells(scores, values, code, unit),
    )


def _starts(ordered: Ints) -> Ints:
    return np.flatnonzero(np.diff(ordered, prepend=-1)).astype(np.int64)


def _rank_bit(place: Ints, code: Ints, unit: Ints, bit: int) -> RankBit:
    prefix, up = code >> (bit + 1), ((code >> bit) & 1).astype(np.bool_)
    order = np.lexsort((place, prefix))
    low, high = order[~up[order]], order[up[order]]
    run = prefix * (int(place.max()) + 1) + place
    starts = _starts(prefix[high])
    groups = prefix[high][starts]
    return RankBit(
        low=unit[low],
        high=unit[high],
        under=np.searchsorted(run[low], run[high], "left"),
        upto=np.searchsorted(run[low], run[high], "right"),
        starts=starts,
        first=np.searchsorted(prefix[low], groups, "left"),
        last=np.searchsorted(prefix[low], groups, "right"),
    )


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
