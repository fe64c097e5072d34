"""A logistic model of claims, fitted to labels of the responses that they are of.

People label whole responses and do not say which claim was at fault. So the probability of a
response is the mean over its claims, as in the metric `support`, and the loss is the cross-entropy
of that mean with the label. No weight is negative: where features are turned so that more of each
speaks for a claim, more evidence never lowers a probability.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueground.stats.bootstrap import Floats, Ints

_CONSTANT = 1e-9
_SURE = 1e-6  # a mean probability nearer to 0 or 1 would make a loss without end


class LabelledClaims(NamedTuple):
    """Claims and the labels of their responses.

    `x` (claims, features); `of` (claims,) numbers the response of each claim from 0 on, and every
    response has one; `labels` and `weights` (responses,): 0 or 1, and what each counts.
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


def logistic(z: Floats) -> Floats:
    """1 / (1 + exp(−z)), without overflow."""
    return np.asarray(0.5 * (1 + np.tanh(z / 2)))


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

    def loss(w: Floats) -> tuple[float, Floats]:
        own, slope = _loss(w, standard, rows)
        away = w[:-1] - centre
        total = own + penalty * float(away @ away)
        return total, slope + 2 * penalty * np.append(away, 0.0)

    start = np.append(np.where(constant, 0.0, 0.1), 0.0)
    bounds = [(0.0, 0.0 if same else None) for same in constant] + [(None, None)]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, tol=1e-10).x
    weights = found[:-1] / spread
    return Logistic(weights, float(found[-1] - weights @ mean))


def _loss(w: Floats, x: Floats, rows: LabelledClaims) -> tuple[float, Floats]:
    """The cross-entropy of the responses' mean probabilities, and its gradient."""
    p = logistic(x @ w[:-1] + w[-1])
    n = np.bincount(rows.of)
    mean = np.clip(_means(p, rows.of), _SURE, 1 - _SURE)
    y = rows.labels
    total = -float(rows.weights @ (y * np.log(mean) + (1 - y) * np.log(1 - mean)))
    by_mean = rows.weights * ((1 - y) / (1 - mean) - y / mean) / n
    by_claim = by_mean[rows.of] * p * (1 - p)
    return total, np.append(x.T @ by_claim, by_claim.sum())


def _means(p: Floats, of: Ints) -> Floats:
    return np.asarray(np.bincount(of, p) / np.bincount(of))
