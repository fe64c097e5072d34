"""From judges' scores to probabilities, and how far probabilities can be believed.

Of one judge two curves: a logistic one (Platt 1999, "Probabilistic outputs for support vector
machines") and one that only rises, isotonic regression (Zadrozny & Elkan 2002, "Transforming
classifier scores into accurate multiclass probability estimates"; Ayer et al. 1955 for pooling
adjacent violators).

Of several a logistic model of claims. People label whole responses and do not say which claim was
at fault. So the probability of a response is the mean over its claims, as in the metric `support`,
and the loss is the cross-entropy of that mean with the label. No weight is negative: where features
are turned so that more of each speaks for a claim, more evidence never lowers a probability.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueground.stats.arithmetic.arrays import interpolate, log_of_exp_plus_one, logistic
from trueground.stats.arithmetic.scalars import logit
from trueground.stats.arithmetic.sums import count_true, dot, mean, solve, standard_deviation, total
from trueground.stats.bootstrap import Floats, Mask
from trueground.stats.thresholds import check_labelled

_STEPS = 100
_LAST_STEPS = 2
_SMALL = 1e-10
# Records at the overall share that every isotonic block gets beside its own, so that none is sure.
_PRIOR = 1.0


def logistic_probabilities(scores: Floats, slope: float, intercept: float) -> Floats:
    """1 / (1 + exp(−(slope · score + intercept))), shape (n,)."""
    return logistic(slope * scores + intercept)


def fit_logistic(scores: Floats, labels: Mask) -> tuple[float, float]:
    """Slope and intercept of the logistic curve that says how likely a label is positive.

    The targets are (P + 1) / (P + 2) for the P positives and 1 / (N + 2) for the N negatives, so
    that separable scores have a finite slope (Platt); equal scores have the slope 0. InputError.
    """
    check_labelled(scores, labels)
    positives, negatives = count_true(labels), count_true(~labels)
    targets = np.where(labels, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    if scores.min() == scores.max():
        return 0.0, logit(mean(targets))
    centre, spread = mean(scores), standard_deviation(scores)
    standard = (scores - centre) / spread

    def loss_of(weights: Floats) -> float:
        logits = weights[0] * standard + weights[1]
        return total(log_of_exp_plus_one(logits) - targets * logits)

    weights = np.zeros(2)
    loss = loss_of(weights)
    for _ in range(_STEPS):  # a step that overshoots is halved
        gradient, step = _newton_step(standard, targets, weights)
        if np.abs(gradient).max() < _SMALL * len(targets):
            break
        new = loss_of(weights - step)
        while new > loss and np.abs(step).max() > 0:
            step = step / 2
            new = loss_of(weights - step)
        weights, loss = weights - step, new
    for _ in range(_LAST_STEPS):  # so near to the end each one doubles the digits
        weights = weights - _newton_step(standard, targets, weights)[1]
    slope, intercept = map(float, weights)
    return slope / spread, intercept - slope * centre / spread


def _newton_step(standard: Floats, targets: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the gradient of the loss, and Newton's step, both of shape (2,)."""
    p = logistic(weights[0] * standard + weights[1])
    apart, curvature = p - targets, p * (1 - p)
    gradient = np.array([dot(standard, apart), total(apart)])
    weighted = curvature * standard
    mixed = total(weighted)
    matrix = np.array([[dot(weighted, standard), mixed], [mixed, total(curvature)]])
    return gradient, solve(matrix + _SMALL * np.eye(2), gradient)


def fit_isotonic(scores: Floats, labels: Mask) -> Floats:
    """Knots (score, probability) of the curve, shape (knots, 2), ascending in both columns.

    Neighbouring scores are pooled into blocks until the share of positives never falls. A block of
    n records with k positives then has the probability (k + s) / (n + 1), with s the share of
    positives among all: the smaller, the less sure. Blocks that this brings out of order are pooled
    again. The first and the last score of a block are its knots. Raises InputError (see
    `check_labelled`).
    """
    check_labelled(scores, labels)
    distinct, place = np.unique(scores, return_inverse=True)
    number = np.bincount(place).astype(np.float64)
    edges, shares, sizes = _pool(np.bincount(place, labels) / number, number)
    smoothed = (shares * sizes + _PRIOR * count_true(labels) / len(labels)) / (sizes + _PRIOR)
    again, values, _ = _pool(smoothed, sizes)
    edges = edges[again]
    first, last = distinct[edges[:-1]], distinct[edges[1:] - 1]
    corners = np.column_stack((first, values, last, values)).reshape(-1, 2)
    single = np.zeros(len(corners), bool)  # a block of one score has one knot
    single[1::2] = first == last
    return np.asarray(corners[~single])


def isotonic_probabilities(scores: Floats, knots: Floats) -> Floats:
    """The curve at these scores, shape (n,): straight lines between knots, level beyond them."""
    return interpolate(scores, knots[:, 0], knots[:, 1])


def _pool(values: Floats, weights: Floats) -> tuple[NDArray[np.intp], Floats, Floats]:
    """Edges (blocks + 1,), mean and weight of each block of neighbours, so that the means rise.

    SciPy's isotonic_regression is compiled, and may round otherwise on another machine.
    """
    blocks: list[tuple[int, float, float]] = []  # first place, mean and weight
    for first, (value, weight) in enumerate(zip(values.tolist(), weights.tolist(), strict=True)):
        block = (first, value, weight)
        while blocks and blocks[-1][1] >= block[1]:
            start, before, size = blocks.pop()
            both = size + block[2]
            block = (start, (before * size + block[1] * block[2]) / both, both)
        blocks.append(block)
    edges = np.array([first for first, _, _ in blocks] + [len(values)], np.intp)
    return edges, np.array([b[1] for b in blocks]), np.array([b[2] for b in blocks])


def calibration_error(probability: Floats, labels: Mask, bins: int = 10) -> float | None:
    """Expected calibration error: |mean probability − share of positives|, averaged over bins.

    Bins hold equally many items; equal probabilities stay in one. None without items.
    """
    if not len(probability):
        return None
    difference = np.bincount(_bins(probability, bins), probability - labels)
    return total(np.abs(difference)) / len(probability)


def reliability(probability: Floats, labels: Mask, bins: int = 10) -> list[dict[str, float | int]]:
    """What lies in each bin of `calibration_error`, ascending: ends, means and number of items."""
    if not len(probability):
        return []
    place = _bins(probability, bins)
    return [
        {
            "low": float(own.min()),
            "high": float(own.max()),
            "mean_probability": mean(own),
            "share_positive": count_true(labels[place == number]) / len(own),
            "n": len(own),
        }
        for number in np.unique(place)
        for own in (probability[place == number],)
    ]


def brier(probability: Floats, labels: Mask) -> float | None:
    """Mean squared difference of probability and label (Brier 1950), 0 is best; or None."""
    apart = probability - labels
    return dot(apart, apart) / len(apart) if len(apart) else None


def _bins(probability: Floats, bins: int) -> NDArray[np.intp]:
    """The bin of each item, from 0 on; some numbers may be missing."""
    inner = np.quantile(probability, np.arange(1, bins) / bins, method="inverted_cdf")
    return np.searchsorted(np.unique(inner), probability, side="left")
