"""A rising curve from scores to probabilities: isotonic regression by pooling neighbours.

Source: Zadrozny & Elkan 2002, "Transforming classifier scores into accurate multiclass probability
estimates"; Ayer et al. 1955 for the algorithm (pool adjacent violators).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueground.stats.thresholds import Floats, Mask, check_labelled

# Records at the overall share that every block gets beside its own, so that none is sure.
_PRIOR = 1.0


def fit(scores: Floats, labels: Mask) -> Floats:
    """Knots (score, probability) of the curve, shape (knots, 2), ascending in both columns.

    Neighbouring scores are pooled into blocks until the share of positives never falls. Each block
    of n records with k positives then has the probability (k + s) / (n + 1), with s the share of
    positives among all: a block of one kind is not 0 or 1, and the less so the smaller it is.
    Blocks that this brings out of order are pooled again. The first and the last score of a block
    are its knots. Raises InputError (see `check_labelled`).
    """
    check_labelled(scores, labels)
    first, last, share, weight = _blocks(scores, labels)
    overall = labels.mean()
    smoothed = (share * weight + _PRIOR * overall) / (weight + _PRIOR)
    starts, values, _ = _pool(smoothed, weight)
    ends = np.append(starts[1:], len(weight)) - 1
    return _knots(first[starts], last[ends], values)


def probabilities(scores: Floats, knots: Floats) -> Floats:
    """The curve at these scores, shape (n,): straight lines between knots, level beyond them."""
    return np.asarray(np.interp(scores, knots[:, 0], knots[:, 1]))


def _blocks(scores: Floats, labels: Mask) -> tuple[Floats, Floats, Floats, Floats]:
    """First score, last score, share of positives and number of items of each block, ascending."""
    distinct, place = np.unique(scores, return_inverse=True)
    number = np.bincount(place).astype(np.float64)
    starts, shares, sums = _pool(np.bincount(place, labels) / number, number)
    ends = np.append(starts[1:], len(distinct)) - 1
    return distinct[starts], distinct[ends], shares, sums


def _pool(values: Floats, weights: Floats) -> tuple[NDArray[np.intp], Floats, Floats]:
    """Start, mean and weight of each block of neighbours, so that the means rise."""
    starts: list[int] = []
    means: list[float] = []
    sums: list[float] = []
    for i, (value, weight) in enumerate(zip(values.tolist(), weights.tolist(), strict=True)):
        start = i
        while means and means[-1] >= value:
            start, other, before = starts.pop(), sums.pop(), means.pop()
            value = (value * weight + before * other) / (weight + other)
            weight += other
        starts.append(start)
        means.append(value)
        sums.append(weight)
    return np.array(starts, np.intp), np.array(means), np.array(sums)


def _knots(first: Floats, last: Floats, values: Floats) -> Floats:
    """The corners of the blocks; a block of one score has one."""
    corners = np.column_stack((first, values, last, values)).reshape(-1, 2)
    single = np.zeros(len(corners), bool)
    single[1::2] = first == last
    return np.asarray(corners[~single])
