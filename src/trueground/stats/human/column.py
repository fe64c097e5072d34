"""One score against one label, sorted once, so that a resample is only a set of weights.

Items with equal scores share a place. A resample gives each unit (an item, or a cluster of items) a
whole-number weight; every statistic is had from the weights summed up in the order of the scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from trueground.stats.human.calibration import bin_edges
from trueground.stats.human.ordinal import Scale, scale_of
from trueground.stats.human.types import Floats, Ints, Mask

GRADES = 20  # more labels than this are a scale, and have no statistics label by label


@dataclass(frozen=True)
class Kind:
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
class Column:
    """The items that have both a score and a label.

    `distinct` (places,) are the scores; `place` (n,) is each item's; `upto[k]` (places + 1,) is how
    many items of the kind stand below place k, for the negatives and for the positives. `below` is
    the number of places whose verdict is no: at or below the default threshold, with `at_least`
    below it; `scale` is there in ordinal mode,
    `bins` (the places where bins of the calibration error begin and end) for probabilities.
    """

    n: int
    unit: Ints
    labels: Floats
    positive: Mask
    distinct: Floats
    place: Ints
    kinds: tuple[Kind, Kind]
    upto: tuple[Ints, Ints]
    grades: tuple[Kind, ...]
    threshold: float | None
    below: int
    scale: Scale | None
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


def column(
    scores: Floats,
    labels: Floats,
    unit: Ints,
    *,
    positive_above: float,
    ordinal: bool,
    threshold: float | None,
    probability: bool,
    at_least: bool = False,
) -> Column:
    """The items of which neither is NaN; `unit` (n,) is the number of its unit."""
    kept = ~(np.isnan(scores) | np.isnan(labels))
    scores, labels, unit = scores[kept], labels[kept], unit[kept]
    distinct, place = np.unique(scores, return_inverse=True)
    place = place.reshape(-1).astype(np.int64)
    positive = labels > positive_above
    scale = float(np.abs(scores).max(initial=0.0)) or 1.0
    kinds = (
        _kind(0.0, ~positive, scores, unit, scale),
        _kind(1.0, positive, scores, unit, scale),
    )
    values = np.unique(labels) if ordinal else labels[:0]
    values = values if len(values) <= GRADES else values[:0]
    upto = _upto(place[~positive], len(distinct)), _upto(place[positive], len(distinct))
    side: Literal["left", "right"] = "left" if at_least else "right"
    inside = bool(len(distinct)) and distinct[0] >= 0.0 and distinct[-1] <= 1.0
    return Column(
        n=len(scores),
        unit=unit,
        labels=labels,
        positive=positive,
        distinct=distinct,
        place=place,
        kinds=kinds,
        upto=upto,
        grades=tuple(_kind(float(v), labels == v, scores, unit, scale) for v in values),
        threshold=threshold,
        below=0 if threshold is None else int(np.searchsorted(distinct, threshold, side)),
        scale=scale_of(place, scores, labels, unit) if ordinal else None,
        bins=bin_edges(np.diff(upto[0] + upto[1])) if probability and inside else None,
        at_least=at_least,
    )


def _kind(label: float, which: Mask, scores: Floats, unit: Ints, scale: float) -> Kind:
    order = np.argsort(scores[which], kind="stable")
    mine = scores[which][order]
    unscaled = mine / scale
    centre = float(unscaled[0] / 2 + unscaled[-1] / 2) if len(mine) else 0.0
    away = unscaled - centre
    spread = float(np.abs(away).max(initial=0.0)) or 1.0
    standard = away / spread
    powers = np.stack((standard, standard * standard), axis=1)
    return Kind(label, unit[which][order], mine, powers, scale, centre, spread)


def _upto(place: Ints, places: int) -> Ints:
    return np.concatenate(([0], np.cumsum(np.bincount(place, minlength=places)))).astype(np.int64)
