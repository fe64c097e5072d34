"""A calibration that never falls, over several judges: `LabeledClaims.fit`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueground.stats.arithmetic.arrays import log, logistic
from trueground.stats.arithmetic.sums import combine, dot, mean, solve, total
from trueground.stats.bootstrap import Floats, Ints, Mask
from trueground.stats.thresholds import folds

_CONSTANT = 1e-9
_RIDGE = 1e-12  # keeps what no label tells solvable
_FLAT = 1e-13  # of a gradient, where weights of responses add up to 1
_MOST_STEPS = 500
_MOST_HALVINGS = 40
_SURE = 1e-6  # a mean probability nearer to 0 or 1 would make a loss without end


class LabeledClaims(NamedTuple):
    """Claims `x` (claims, features) and the labels, 0 or 1, and weights of their responses.

    `of` (claims,) numbers the response of each claim from 0 on, and every response has one.
    """

    x: Floats
    of: Ints
    labels: Floats
    weights: Floats

    def select(self, responses: Ints) -> LabeledClaims:
        """Only these responses, ascending numbers; their weights stay as they are."""
        place = np.full(len(self.labels), -1)
        place[responses] = np.arange(len(responses))
        kept = place[self.of] >= 0
        return LabeledClaims(
            self.x[kept], place[self.of[kept]], self.labels[responses], self.weights[responses]
        )

    def folds(self, clusters: Ints | None = None, *, parts: int = 5, seed: int = 0) -> Ints:
        """Return a part for each response, shape (responses,); see `thresholds.folds`."""
        return folds(len(self.labels), clusters, parts=parts, seed=seed)

    def fit(
        self,
        penalty: float,
        *,
        prior: Floats | None = None,
        like: Floats | None = None,
    ) -> LogisticModel:
        """Return the model that makes the labels likeliest, drawn to the weights `prior` (or 0).

        The `penalty` is on the squared distance from them, of weights of standardized features,
        beside the sum of the weighted losses. Features are standardized by the mean and spread of
        `like` (n, features), by default of the claims themselves. Fisher scoring with bounds, from
        one fixed start.
        """
        like = self.x if like is None else like
        center = mean(like, axis=0)
        deviation = like - center
        spread = np.sqrt(mean(deviation * deviation, axis=0))
        constant = spread < _CONSTANT  # tells nothing apart, and so has no weight
        spread = np.where(constant, 1.0, spread)
        size = self.x.shape[1]
        start = np.append(np.where(constant, 0.0, 0.1), 0.0)
        loss = _MonotoneLoss(
            self,
            np.column_stack(((self.x - center) / spread, np.ones(len(self.x)))),
            np.append(
                np.zeros(size) if prior is None else np.where(constant, 0.0, prior * spread), 0
            ),
            np.append(np.full(size, penalty), 0.0),
        )
        found = _minimize(loss, start, fixed=np.append(constant, False))
        weights = found[:-1] / spread
        return LogisticModel(weights, float(found[-1]) - dot(weights, center))


class LogisticModel(NamedTuple):
    """`weights` (features,), none below 0, and the intercept of the log-odds."""

    weights: Floats
    intercept: float

    def probabilities(self, x: Floats) -> Floats:
        """The probability of each claim, shape (claims,)."""
        return logistic(combine(x, self.weights) + self.intercept)

    def support(self, rows: LabeledClaims) -> Floats:
        """The mean over the claims of each response, shape (responses,)."""
        return _response_means(self.probabilities(rows.x), rows.of)


class _Slope(NamedTuple):
    """The loss at some weights, its gradient (features + 1,) and Fisher's information."""

    loss: float
    gradient: Floats
    information: Floats


class _MonotoneLoss(NamedTuple):
    """The cross-entropy of the responses' mean probabilities, with the penalty.

    `standard` (claims, features + 1) ends with a column of ones; `prior` and `penalty` too have an
    entry for it.
    """

    rows: LabeledClaims
    standard: Floats
    prior: Floats
    penalty: Floats

    def at(self, w: Floats) -> float:
        """The loss alone."""
        p = logistic(combine(self.standard, w))
        return self._loss(w, np.clip(_response_means(p, self.rows.of), _SURE, 1 - _SURE))

    def slope(self, w: Floats) -> _Slope:
        """The loss and how it changes."""
        of, y = self.rows.of, self.rows.labels
        p = logistic(combine(self.standard, w))
        share = np.clip(_response_means(p, of), _SURE, 1 - _SURE)
        by_weight = (p * (1 - p))[:, None] * self.standard
        columns = [_response_means(column, of) for column in by_weight.T]
        change = np.stack(columns, axis=1)  # of each response's share, by each weight
        by_share = self.rows.weights * ((1 - y) / (1 - share) - y / share)
        certainty = self.rows.weights / (share * (1 - share))
        products = (certainty[:, None] * change)[:, :, None] * change[:, None, :]
        away = w - self.prior
        gradient = total(by_share[:, None] * change, axis=0) + 2 * self.penalty * away
        information = total(products, axis=0) + np.diag(2 * self.penalty + _RIDGE)
        return _Slope(self._loss(w, share), gradient, information)

    def _loss(self, w: Floats, share: Floats) -> float:
        y, away = self.rows.labels, w - self.prior
        fits = y * log(share) + (1 - y) * log(1 - share)
        return dot(self.penalty * away, away) - dot(self.rows.weights, fits)


def _minimize(loss: _MonotoneLoss, w: Floats, fixed: Mask) -> Floats:
    """The weights of least loss, none but the last below 0; those that are `fixed` stay at 0.

    Each step solves for the weights that are free, and is halved until the loss falls. It ends
    where no step lowers the loss any more.
    """
    bounded = np.append(np.ones(len(w) - 1, np.bool_), False)
    for _ in range(_MOST_STEPS):
        now = loss.slope(w)
        free = np.flatnonzero(~fixed & ~(bounded & (w <= 0) & (now.gradient > 0)))
        if np.abs(now.gradient[free]).max(initial=0.0) < _FLAT:
            break
        step = np.zeros(len(w))
        step[free] = solve(now.information[np.ix_(free, free)], now.gradient[free])
        for _ in range(_MOST_HALVINGS):
            new = np.where(bounded, np.maximum(w - step, 0.0), w - step)
            if loss.at(new) < now.loss:
                break
            step = step / 2
        else:
            break
        w = new
    return w


def _response_means(p: Floats, of: Ints) -> Floats:
    return np.asarray(np.bincount(of, p) / np.bincount(of))
