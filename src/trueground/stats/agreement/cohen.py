"""Two raters: Cohen's kappa, also weighted."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from trueground.errors import UsageError
from trueground.stats.agreement.labels import Floats, as_array

Weighting = Literal["none", "linear", "quadratic"]


def cohen_kappa(table: NDArray[np.integer]) -> float | None:
    """Cohen's kappa (1960) of a square table of counts, shape (k, k).

    None without counts, and where both raters use one and the same category only: chance alone
    would agree always.
    """
    n = int(table.sum())
    if not n:
        return None
    observed = float(np.trace(table)) / n
    expected = float(table.sum(axis=1) @ table.sum(axis=0)) / n**2
    return None if expected == 1.0 else (observed - expected) / (1.0 - expected)


def cohen(
    labels: Floats, weighting: Weighting = "none", *, weights: Floats | None = None
) -> float | None:
    """Cohen's kappa of two annotators, shape (items, 2), over the items that both have labelled.

    `weighting` (Cohen 1968) counts a disagreement as one ("none"), by the difference of the labels
    ("linear") or by its square ("quadratic"); the labels themselves are the scale, so that a grade
    that nobody gave still takes its place. None without such items, and where both gave one and
    the same label throughout. Raises UsageError.
    """
    array = as_array(labels)
    if array.shape[1] != 2:
        raise UsageError(f"Cohen's kappa is of two annotators; found {array.shape[1]} columns")
    both = ~np.isnan(array).any(axis=1)
    w = (np.ones(len(array)) if weights is None else weights)[both]
    total = float(w.sum())
    if not total:
        return None
    values, codes = np.unique(array[both], return_inverse=True)
    a, b = codes.reshape(-1, 2).T
    first, second = (np.bincount(c, w, len(values)) / total for c in (a, b))
    if np.count_nonzero(first + second) < 2:
        return None
    if weighting == "none":
        apart, expected = (a != b).astype(np.float64), 1.0 - float(first @ second)
    elif weighting == "linear":
        apart, expected = np.abs(values[a] - values[b]), _distance(values, first, second)
    elif weighting == "quadratic":
        apart, expected = (values[a] - values[b]) ** 2, _square(values, first, second)
    else:
        raise UsageError(f"weighting {weighting!r}: expected none, linear or quadratic")
    return float(1.0 - w @ apart / total / expected)


def _distance(values: Floats, first: Floats, second: Floats) -> float:
    """The mean distance of two independent draws: E|X - Y|, from their distribution functions."""
    a, b = np.cumsum(first)[:-1], np.cumsum(second)[:-1]
    return float(np.diff(values) @ (a * (1.0 - b) + b * (1.0 - a)))


def _square(values: Floats, first: Floats, second: Floats) -> float:
    """The mean squared distance of two independent draws: both variances, and the means' own."""
    one, other = float(first @ values), float(second @ values)
    spread = first @ (values - one) ** 2 + second @ (values - other) ** 2
    return float(spread) + (one - other) ** 2
