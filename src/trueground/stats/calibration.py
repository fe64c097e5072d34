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

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueground.stats.bootstrap import Floats, Ints, Mask
from trueground.stats.thresholds import check_labelled

_STEPS = 100
_SMALL = 1e-10
# Records at the overall share that every isotonic block gets beside its own, so that none is sure.
_PRIOR = 1.0


def logistic_probabilities(scores: Floats, slope: float, intercept: float) -> Floats:
    """1 / (1 + exp(−(slope · score + intercept))), shape (n,)."""
    return logistic(slope * scores + intercept)


def logistic(z: Floats) -> Floats:
    """1 / (1 + exp(−z)), without overflow."""
    return np.asarray(0.5 * (1 + np.tanh(z / 2)))


def fit_logistic(scores: Floats, labels: Mask) -> tuple[float, float]:
    """Slope and intercept of the logistic curve that says how likely a label is positive.

    The targets are (P + 1) / (P + 2) for the P positives and 1 / (N + 2) for the N negatives, so
    that separable scores have a finite slope (Platt); equal scores have the slope 0. InputError.
    """
    check_labelled(scores, labels)
    positives, negatives = int(labels.sum()), int((~labels).sum())
    targets = np.where(labels, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    mean, spread = float(scores.mean()), float(scores.std())
    if scores.min() == scores.max():
        rate = float(targets.mean())
        return 0.0, float(np.log(rate / (1 - rate)))
    rows = np.stack(((scores - mean) / spread, np.ones(len(scores))))

    def loss_of(weights: Floats) -> float:
        logits = weights @ rows
        return float((np.logaddexp(0.0, logits) - targets * logits).sum())

    weights = np.zeros(2)
    loss = loss_of(weights)
    for _ in range(_STEPS):  # Newton's, on what is convex; a step that overshoots is halved
        p = logistic(weights @ rows)
        gradient = rows @ (p - targets)
        if np.abs(gradient).max() < _SMALL * len(targets):
            break
        step = np.linalg.solve((rows * (p * (1 - p))) @ rows.T + _SMALL * np.eye(2), gradient)
        while (new := loss_of(weights - step)) > loss and np.abs(step).max() > 0:
            step = step / 2
        weights, loss = weights - step, new
    slope, intercept = map(float, weights)
    return slope / spread, intercept - slope * mean / spread


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
    smoothed = (shares * sizes + _PRIOR * labels.mean()) / (sizes + _PRIOR)
    again, values, _ = _pool(smoothed, sizes)
    edges = edges[again]
    first, last = distinct[edges[:-1]], distinct[edges[1:] - 1]
    corners = np.column_stack((first, values, last, values)).reshape(-1, 2)
    single = np.zeros(len(corners), bool)  # a block of one score has one knot
    single[1::2] = first == last
    return np.asarray(corners[~single])


def isotonic_probabilities(scores: Floats, knots: Floats) -> Floats:
    """The curve at these scores, shape (n,): straight lines between knots, level beyond them."""
    return np.asarray(np.interp(scores, knots[:, 0], knots[:, 1]))


def _pool(values: Floats, weights: Floats) -> tuple[NDArray[np.intp], Floats, Floats]:
    """Edges (blocks + 1,), mean and weight of each block of neighbours, so that the means rise."""
    from scipy.optimize import isotonic_regression

    pooled = isotonic_regression(values, weights=weights)
    return pooled.blocks, pooled.x[pooled.blocks[:-1]], pooled.weights


def calibration_error(probability: Floats, labels: Mask, bins: int = 10) -> float | None:
    """Expected calibration error: |mean probability − share of positives|, averaged over bins.

    Bins hold equally many items; equal probabilities stay in one. None without items.
    """
    if not len(probability):
        return None
    difference = np.bincount(_bins(probability, bins), probability - labels)
    return float(np.abs(difference).sum() / len(probability))


def reliability(probability: Floats, labels: Mask, bins: int = 10) -> list[dict[str, float | int]]:
    """What lies in each bin of `calibration_error`, ascending: ends, means and number of items."""
    if not len(probability):
        return []
    place = _bins(probability, bins)
    return [
        {
            "low": float(own.min()),
            "high": float(own.max()),
            "mean_probability": float(own.mean()),
            "share_positive": float(labels[place == number].mean()),
            "n": len(own),
        }
        for number in np.unique(place)
        for own in (probability[place == number],)
    ]


def brier(probability: Floats, labels: Mask) -> float | None:
    """Mean squared difference of probability and label (Brier 1950), 0 is best; or None."""
    return float(((probability - labels) ** 2).mean()) if len(probability) else None


def _bins(probability: Floats, bins: int) -> NDArray[np.intp]:
    """The bin of each item, from 0 on; some numbers may be missing."""
    inner = np.quantile(probability, np.arange(1, bins) / bins, method="inverted_cdf")
    return np.searchsorted(np.unique(inner), probability, side="left")


_CONSTANT = 1e-9
_SURE = 1e-6  # a mean probability nearer to 0 or 1 would make a loss without end


class LabelledClaims(NamedTuple):
    """Claims `x` (claims, features) and the labels, 0 or 1, and weights of their responses.

    `of` (claims,) numbers the response of each claim from 0 on, and every response has one.
    """

    x: Floats
    of: Ints
    labels: Floats
    weights: Floats

    def select(self, responses: Ints) -> LabelledClaims:
        """Only these responses, ascending numbers; their weights stay as they are."""
        place = np.full(len(self.labels), -1)
        place[responses] = np.arange(len(responses))
        kept = place[self.of] >= 0
        return LabelledClaims(
            self.x[kept], place[self.of[kept]], self.labels[responses], self.weights[responses]
        )


class Logistic(NamedTuple):
    """`weights` (features,), none below 0, and the intercept of the log-odds."""

    weights: Floats
    intercept: float

    def probabilities(self, x: Floats) -> Floats:
        """The probability of each claim, shape (claims,)."""
        return logistic(x @ self.weights + self.intercept)

    def support(self, rows: LabelledClaims) -> Floats:
        """The mean over the claims of each response, shape (responses,)."""
        return _means(self.probabilities(rows.x), rows.of)


def fit_monotone(
    rows: LabelledClaims,
    penalty: float,
    *,
    prior: Floats | None = None,
    like: Floats | None = None,
) -> Logistic:
    """The model that makes the labels likeliest, drawn to the weights `prior` (by default 0).

    The `penalty` is on the squared distance from them, of weights of standardised features, beside
    the sum of the weighted losses. Features are standardised by the mean and spread of `like` (n,
    features), by default of the claims themselves. L-BFGS-B with bounds, from one fixed start.
    """
    from scipy.optimize import minimize

    like = rows.x if like is None else like
    mean, spread = like.mean(axis=0), like.std(axis=0)
    constant = spread < _CONSTANT  # tells nothing apart, and so has no weight
    spread = np.where(constant, 1.0, spread)
    standard = (rows.x - mean) / spread
    size = rows.x.shape[1]
    centre = np.zeros(size) if prior is None else np.where(constant, 0.0, prior * spread)
    n, y = np.bincount(rows.of), rows.labels

    def loss(w: Floats) -> tuple[float, Floats]:
        """The cross-entropy of the responses' mean probabilities with the penalty; its gradient."""
        p = logistic(standard @ w[:-1] + w[-1])
        mean = np.clip(_means(p, rows.of), _SURE, 1 - _SURE)
        away = w[:-1] - centre
        total = -float(rows.weights @ (y * np.log(mean) + (1 - y) * np.log(1 - mean)))
        by_mean = rows.weights * ((1 - y) / (1 - mean) - y / mean) / n
        by_claim = by_mean[rows.of] * p * (1 - p)
        slope = np.append(standard.T @ by_claim + 2 * penalty * away, by_claim.sum())
        return total + penalty * float(away @ away), slope

    start = np.append(np.where(constant, 0.0, 0.1), 0.0)
    bounds = [(0.0, 0.0 if same else None) for same in constant] + [(None, None)]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, tol=1e-10).x
    weights = found[:-1] / spread
    return Logistic(weights, float(found[-1] - weights @ mean))


def _means(p: Floats, of: Ints) -> Floats:
    return np.asarray(np.bincount(of, p) / np.bincount(of))
