"""From a judge's scores to probabilities, and how far probabilities can be believed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueground.stats.thresholds import Floats, check_labelled

_STEPS = 100
_SMALL = 1e-10


def probabilities(scores: Floats, slope: float, intercept: float) -> Floats:
    """1 / (1 + exp(−(slope · score + intercept))), shape (n,)."""
    return np.asarray(0.5 * (1 + np.tanh((slope * scores + intercept) / 2)))


def fit(scores: Floats, labels: NDArray[np.bool_]) -> tuple[float, float]:
    """Slope and intercept of the logistic curve that says how likely a label is positive.

    The targets are (P + 1) / (P + 2) for the P positives and 1 / (N + 2) for the N negatives, not
    1 and 0, so that separable scores have a finite slope (Platt 1999, "Probabilistic outputs for
    support vector machines"). Scores that are all equal have the slope 0. Raises InputError.
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
        p = probabilities(weights @ rows, 1.0, 0.0)
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


def calibration_error(
    probability: Floats, labels: NDArray[np.bool_], bins: int = 10
) -> float | None:
    """Expected calibration error: |mean probability − share of positives|, averaged over bins.

    Bins hold equally many items where no ties forbid it: equal probabilities stay in one bin, so
    that the order of the items does not matter. None without items.
    """
    if not len(probability):
        return None
    difference = np.bincount(_bins(probability, bins), probability - labels)
    return float(np.abs(difference).sum() / len(probability))


def reliability(
    probability: Floats, labels: NDArray[np.bool_], bins: int = 10
) -> list[dict[str, float | int]]:
    """What lies in each bin of `calibration_error`, ascending.

    `low` and `high` are the least and the greatest probability, `mean_probability` and
    `share_positive` what would be equal if probabilities could be believed, and `n` the items.
    """
    if not len(probability):
        return []
    place = _bins(probability, bins)
    found: list[dict[str, float | int]] = []
    for number in np.unique(place):
        own = probability[place == number]
        found.append(
            {
                "low": float(own.min()),
                "high": float(own.max()),
                "mean_probability": float(own.mean()),
                "share_positive": float(labels[place == number].mean()),
                "n": len(own),
            }
        )
    return found


def brier(probability: Floats, labels: NDArray[np.bool_]) -> float | None:
    """Mean squared difference of probability and label, from 0 (best) to 1; None without items.

    Unlike the calibration error it also tells how well probabilities keep the kinds apart: giving
    everything the overall share is well calibrated, and has a poor Brier score (Brier 1950).
    """
    return float(((probability - labels) ** 2).mean()) if len(probability) else None


def _bins(probability: Floats, bins: int) -> NDArray[np.intp]:
    """The bin of each item, from 0 on; some numbers may be missing."""
    inner = np.quantile(probability, np.arange(1, bins) / bins, method="inverted_cdf")
    return np.searchsorted(np.unique(inner), probability, side="left")
