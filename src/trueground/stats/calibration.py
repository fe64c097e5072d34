"""From a judge's scores to probabilities, and how far probabilities can be believed.

Two curves: a logistic one (Platt 1999, "Probabilistic outputs for support vector machines") and one
that only rises, isotonic regression (Zadrozny & Elkan 2002, "Transforming classifier scores into
accurate multiclass probability estimates"; Ayer et al. 1955 for pooling adjacent violators).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueground.stats.bootstrap import Floats, Mask
from trueground.stats.thresholds import check_labelled

_STEPS = 100
_SMALL = 1e-10
# Records at the overall share that every isotonic block gets beside its own, so that none is sure.
_PRIOR = 1.0


def logistic_probabilities(scores: Floats, slope: float, intercept: float) -> Floats:
    """1 / (1 + exp(−(slope · score + intercept))), shape (n,)."""
    return np.asarray(0.5 * (1 + np.tanh((slope * scores + intercept) / 2)))


def fit_logistic(scores: Floats, labels: Mask) -> tuple[float, float]:
    """Slope and intercept of the logistic curve that says how likely a label is positive.

    The targets are (P + 1) / (P + 2) for the P positives and 1 / (N + 2) for the N negatives, not
    1 and 0, so that separable scores have a finite slope (Platt). Scores that are all equal have
    the slope 0. Raises InputError (see `check_labelled`).
    """
    check_labelled(scores, labels)
    positives, negatives = int(labels.sum()), int((~labels).sum())
    targets = np.where(labels, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    mean, spread = float(scores.mean()), float(scores.std())
    if scores.min() == scores.max():
        rate = float(targets.mean())
        return 0.0, float(np.log(rate / (1 - rate)))
    rows = np.stack(((scores - mean) / spread, np.ones(len(scores))))
    slope, intercept = _newton(rows, targets)
    return slope / spread, intercept - slope * mean / spread


def _newton(rows: Floats, targets: Floats) -> tuple[float, float]:
    """The minimum of the cross-entropy, which is convex; a step that overshoots is halved."""
    weights = np.zeros(2)
    loss = _loss(weights @ rows, targets)
    for _ in range(_STEPS):
        p = logistic_probabilities(weights @ rows, 1.0, 0.0)
        gradient = rows @ (p - targets)
        if np.abs(gradient).max() < _SMALL * len(targets):
            break
        step = np.linalg.solve((rows * (p * (1 - p))) @ rows.T + _SMALL * np.eye(2), gradient)
        while (new := _loss((weights - step) @ rows, targets)) > loss and np.abs(step).max() > 0:
            step = step / 2
        weights, loss = weights - step, new
    return float(weights[0]), float(weights[1])


def _loss(logits: Floats, targets: Floats) -> float:
    return float((np.logaddexp(0.0, logits) - targets * logits).sum())


def fit_isotonic(scores: Floats, labels: Mask) -> Floats:
    """Knots (score, probability) of the curve, shape (knots, 2), ascending in both columns.

    Neighbouring scores are pooled into blocks until the share of positives never falls. Each block
    of n records with k positives then has the probability (k + s) / (n + 1), with s the share of
    positives among all: a block of one kind is not 0 or 1, and the less so the smaller it is.
    Blocks that this brings out of order are pooled again. The first and the last score of a block
    are its knots. Raises InputError (see `check_labelled`).
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

    Bins hold equally many items where no ties forbid it: equal probabilities stay in one bin, so
    that the order of the items does not matter. None without items.
    """
    if not len(probability):
        return None
    difference = np.bincount(_bins(probability, bins), probability - labels)
    return float(np.abs(difference).sum() / len(probability))


def reliability(probability: Floats, labels: Mask, bins: int = 10) -> list[dict[str, float | int]]:
    """What lies in each bin of `calibration_error`, ascending.

    `low` and `high` are the least and the greatest probability, `mean_probability` and
    `share_positive` what would be equal if probabilities could be believed, and `n` the items.
    """
    if not len(probability):
        return []
    place = _bins(probability, bins)
    rows: list[dict[str, float | int]] = []
    for number in np.unique(place):
        own = probability[place == number]
        rows.append(
            {
                "low": float(own.min()),
                "high": float(own.max()),
                "mean_probability": float(own.mean()),
                "share_positive": float(labels[place == number].mean()),
                "n": len(own),
            }
        )
    return rows


def brier(probability: Floats, labels: Mask) -> float | None:
    """Mean squared difference of probability and label, from 0 (best) to 1; None without items.

    Unlike the calibration error it also tells how well probabilities keep the kinds apart: giving
    everything the overall share is well calibrated, and has a poor Brier score (Brier 1950).
    """
    return float(((probability - labels) ** 2).mean()) if len(probability) else None


def _bins(probability: Floats, bins: int) -> NDArray[np.intp]:
    """The bin of each item, from 0 on; some numbers may be missing."""
    inner = np.quantile(probability, np.arange(1, bins) / bins, method="inverted_cdf")
    return np.searchsorted(np.unique(inner), probability, side="left")
