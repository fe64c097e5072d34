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

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueground.stats.arithmetic.arrays import interpolate, log_of_exp_plus_one, logistic
from trueground.stats.arithmetic.scalars import logit
from trueground.stats.arithmetic.sums import dot, mean, solve, standard_deviation, sum_counts, total
from trueground.stats.bootstrap import Floats, Mask
from trueground.stats.thresholds import ScoredLabels

_STEPS = 100
_LAST_STEPS = 2
_SMALL = 1e-10
# Records at the overall share that every isotonic block gets beside its own, so that none is sure.
_PRIOR = 1.0


class LogisticCurve(NamedTuple):
    """From scores to the probabilities 1 / (1 + exp(−(slope · score + intercept)))."""

    slope: float
    intercept: float

    @classmethod
    def fit(cls, scores: Floats, labels: Mask) -> LogisticCurve:
        """Return the curve that says how likely a label is positive.

        The targets are (P + 1) / (P + 2) for the P positives and 1 / (N + 2) for the N negatives,
        so that separable scores have a finite slope (Platt); equal scores have the slope 0.
        InputError.
        """
        ScoredLabels(scores, labels).check()
        positives, negatives = sum_counts(labels), sum_counts(~labels)
        targets = np.where(labels, (positives + 1) / (positives + 2), 1 / (negatives + 2))
        if scores.min() == scores.max():
            return cls(0.0, logit(mean(targets)))
        center, spread = mean(scores), standard_deviation(scores)
        standard = (scores - center) / spread

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
        return cls(slope / spread, intercept - slope * center / spread)

    def probabilities(self, scores: Floats) -> Floats:
        """Return the probability at each score, shape (n,)."""
        return logistic(self.slope * scores + self.intercept)


class IsotonicCurve(NamedTuple):
    """From scores to probabilities by lines between knots.

    `knots` are pairs (score, probability), shape (knots, 2), ascending in both columns.
    """

    knots: Floats

    @classmethod
    def fit(cls, scores: Floats, labels: Mask) -> IsotonicCurve:
        """Return the curve that rises from the scores to shares of positive labels.

        Neighboring scores are pooled into blocks until the share of positives never falls. A block
        of n records with k positives then has the probability (k + s) / (n + 1), with s the share
        of positives among all: the smaller, the less sure. Blocks that this brings out of order are
        pooled again. The first and the last score of a block are its knots. Raises InputError (see
        `ScoredLabels.check`).
        """
        ScoredLabels(scores, labels).check()
        distinct, place = np.unique(scores, return_inverse=True)
        number = np.bincount(place).astype(np.float64)
        edges, shares, sizes = _pool(np.bincount(place, labels) / number, number)
        smoothed = (shares * sizes + _PRIOR * sum_counts(labels) / len(labels)) / (sizes + _PRIOR)
        again, values, _ = _pool(smoothed, sizes)
        edges = edges[again]
        first, last = distinct[edges[:-1]], distinct[edges[1:] - 1]
        corners = np.column_stack((first, values, last, values)).reshape(-1, 2)
        single = np.zeros(len(corners), bool)  # a block of one score has one knot
        single[1::2] = first == last
        return cls(np.asarray(corners[~single]))

    def probabilities(self, scores: Floats) -> Floats:
        """Return the curve at these scores, shape (n,), level beyond the outermost knots."""
        return interpolate(scores, self.knots[:, 0], self.knots[:, 1])


@dataclass(frozen=True, eq=False)
class CalibrationCurve:
    """From scores to probabilities, as a calibration file stores it.

    A logistic curve has `slope` and `intercept`, an isotonic one has `knots`, shape (knots, 2).
    """

    slope: float | None = None
    intercept: float | None = None
    knots: Floats | None = None

    @classmethod
    def fit(cls, method: str, data: ScoredLabels) -> CalibrationCurve:
        """Fit a curve by "isotonic" or "platt". Raises InputError for labels of one kind."""
        if method == "isotonic":
            return cls(knots=IsotonicCurve.fit(data.scores, data.labels).knots)
        return cls(*LogisticCurve.fit(data.scores, data.labels))

    def probabilities(self, scores: Floats) -> Floats:
        """Return the probability at each score, shape (n,)."""
        if self.knots is not None:
            return IsotonicCurve(self.knots).probabilities(scores)
        return LogisticCurve(self.slope or 0.0, self.intercept or 0.0).probabilities(scores)


def _newton_step(standard: Floats, targets: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the gradient of the loss, and Newton's step, both of shape (2,)."""
    p = logistic(weights[0] * standard + weights[1])
    apart, curvature = p - targets, p * (1 - p)
    gradient = np.array([dot(standard, apart), total(apart)])
    weighted = curvature * standard
    mixed = total(weighted)
    matrix = np.array([[dot(weighted, standard), mixed], [mixed, total(curvature)]])
    return gradient, solve(matrix + _SMALL * np.eye(2), gradient)


def _pool(values: Floats, weights: Floats) -> tuple[NDArray[np.intp], Floats, Floats]:
    """Edges (blocks + 1,), mean and weight of each block of neighbors, so that the means rise.

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
