"""How far a threshold can be trusted: bootstrap intervals, and items that it was not chosen on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trueground.errors import InputError
from trueground.stats.bootstrap import Interval, percentiles
from trueground.stats.thresholds import (
    Floats,
    Mask,
    best_threshold,
    counts_at,
    measures,
    see_labelled,
    weighted_auroc,
)

Ids = NDArray[np.int64]
Choose = Callable[[Floats, Mask], float]
Fit = Callable[[Floats, Mask], Callable[[Floats], Floats]]


@dataclass(frozen=True)
class HeldOut:
    """Each part of the items judged by the threshold that is best on the others.

    `thresholds` has one number for each part, `applied` (n,) one for each item; without them
    `reason` says why.
    """

    thresholds: tuple[float, ...] = ()
    applied: Floats | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Predicted:
    """Probabilities (n,) of items that the curve was not fitted on; without them a `reason`."""

    probabilities: Floats | None = None
    reason: str | None = None


def bootstrap_intervals(
    scores: Floats,
    labels: Mask,
    thresholds: Sequence[float],
    clusters: Ids | None = None,
    *,
    resamples: int = 2_000,
    seed: int = 0,
    level: float = 0.95,
) -> tuple[Interval | None, list[Interval | None]]:
    """Percentile intervals of AUROC, and of the balanced accuracy at each threshold.

    `clusters` (n,) holds equal numbers for items that are resampled together. The thresholds stay
    fixed. Resamples without one of the kinds are left out. None with fewer than two clusters of a
    kind. Raises InputError (see `see_labelled`).
    """
    see_labelled(scores, labels)
    _, units = np.unique(
        np.arange(len(scores)) if clusters is None else clusters, return_inverse=True
    )
    if min(len(np.unique(units[labels])), len(np.unique(units[~labels]))) < 2:
        return None, [None] * len(thresholds)
    distinct, place = np.unique(scores, return_inverse=True)
    cuts = np.searchsorted(distinct, np.asarray(thresholds, float), side="right")
    random = np.random.Generator(np.random.SFC64(seed))
    size = int(units.max()) + 1
    found = np.full((1 + len(cuts), resamples), np.nan)
    for i in range(resamples):
        weight = np.bincount(random.integers(0, size, size), minlength=size)[units]
        positive, negative = counts_at(place, labels, weight.astype(np.float64))
        found[0, i] = weighted_auroc(positive, negative)
        found[1:, i] = _balanced(positive, negative, cuts)
    area, *accuracies = (percentiles(row, level) for row in found)
    return area, accuracies


def _balanced(positive: Floats, negative: Floats, cuts: NDArray[np.intp]) -> Floats:
    """Balanced accuracy of the cuts; a cut is the number of distinct scores below it."""
    tp = np.append(0.0, np.cumsum(positive[::-1]))[len(positive) - cuts]
    fp = np.append(0.0, np.cumsum(negative[::-1]))[len(negative) - cuts]
    return measures(tp, fp, float(positive.sum()), float(negative.sum()))["balanced_accuracy"]


def folds(n: int, clusters: Ids | None = None, *, parts: int = 5, seed: int = 0) -> Ids:
    """A part for each item, shape (n,): clusters stay whole, shuffled by the seed, dealt in turn.

    With fewer clusters than parts each cluster is a part.
    """
    _, units = np.unique(np.arange(n) if clusters is None else clusters, return_inverse=True)
    size = int(units.max()) + 1 if n else 0
    order = np.random.Generator(np.random.SFC64(seed)).permutation(size)
    return np.asarray(order[units] % parts, np.int64)


def held_out(scores: Floats, labels: Mask, parts: Ids, choose: Choose = best_threshold) -> HeldOut:
    """Choose a threshold on all parts but one, for each part; `parts` (n,) counts from 0.

    All arrays of shape (n,). Where the items outside a part allow no choice, there is a reason.
    """
    number = int(parts.max()) + 1 if len(parts) else 0
    if number < 2:
        return HeldOut(reason="there is one part only, so nothing is left to choose on")
    chosen = []
    for part in range(number):
        others = parts != part
        try:
            chosen.append(choose(scores[others], labels[others]))
        except InputError as error:
            return HeldOut(reason=f"without part {part + 1} of {number}: {error}")
    return HeldOut(tuple(chosen), np.array(chosen)[parts])


def predicted(scores: Floats, labels: Mask, parts: Ids, fit: Fit) -> Predicted:
    """Fit a curve on all parts but one, and read the part's probabilities from it, for each part.

    All arrays of shape (n,). Where the items outside a part allow no curve, there is a reason.
    """
    number = int(parts.max()) + 1 if len(parts) else 0
    if number < 2:
        return Predicted(reason="there is one part only, so nothing is left to fit on")
    found = np.empty(len(scores))
    for part in range(number):
        inside = parts == part
        try:
            found[inside] = fit(scores[~inside], labels[~inside])(scores[inside])
        except InputError as error:
            return Predicted(reason=f"without part {part + 1} of {number}: {error}")
    return Predicted(found)
