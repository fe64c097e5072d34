"""How far a threshold or a curve can be trusted: items that it was not chosen on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trueground.errors import InputError
from trueground.stats.thresholds import Floats, Mask, best_threshold

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
