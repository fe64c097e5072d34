"""Any number of raters: raw agreement, Fleiss' kappa, Krippendorff's alpha."""

from __future__ import annotations

from typing import Literal

import numpy as np

from trueground.errors import UsageError
from trueground.stats.agreement.labels import Floats, rated_items

Measure = Literal["nominal", "ordinal", "interval"]


def raw_agreement(labels: Floats, *, weights: Floats | None = None) -> float | None:
    """The share of pairs of labels that are equal: the mean over items with two labels or more."""
    rated = rated_items(labels, weights)
    if not rated.total:
        return None
    return float(rated.weights @ rated.agreeing / rated.total)


def fleiss_kappa(labels: Floats, *, weights: Floats | None = None) -> float | None:
    """Fleiss' kappa (1971), for any number of labels an item.

    Items with fewer than two labels are left out. Each of the others counts alike: its share of
    agreeing pairs, and its shares of the categories, whose means are those expected by chance
    (Gwet's form for incomplete ratings, 2014; Fleiss' own where all items have as many labels).
    None without pairs, and where one category only was used.
    """
    rated = rated_items(labels, weights)
    shares = np.bincount(rated.code, rated.weights[rated.row] * rated.n / rated.m[rated.row])
    if np.count_nonzero(shares) < 2:
        return None
    expected = float(np.sum((shares / rated.total) ** 2))
    observed = float(rated.weights @ rated.agreeing / rated.total)
    return (observed - expected) / (1.0 - expected)


def krippendorff_alpha(
    labels: Floats, measure: Measure = "nominal", *, weights: Floats | None = None
) -> float | None:
    """Krippendorff's alpha (Krippendorff 2011, "Computing Krippendorff's alpha-reliability").

    `measure` says how far two labels are apart: "nominal" equal or not; "ordinal" by the number of
    labels between them; "interval" by their squared difference. Items with fewer than two labels
    take no part. None without pairs, and where all labels are equal.
    """
    rated = rated_items(labels, weights)
    each = rated.weights[rated.row] * rated.n
    counts = np.bincount(rated.code, each, len(rated.values))
    if np.count_nonzero(counts) < 2:
        return None
    n = float(counts.sum())
    if measure == "nominal":
        apart = rated.weights @ (rated.m * (1.0 - rated.agreeing))
        return float(1.0 - apart * (n - 1.0) / (n * n - counts @ counts))
    if measure == "ordinal":
        # The labels between two, half of either end included, are the difference of middle ranks.
        values = np.cumsum(counts) - counts / 2.0
    elif measure == "interval":
        values = rated.values
    else:
        raise UsageError(f"measure {measure!r}: expected nominal, ordinal or interval")
    x = (values - counts @ values / n)[rated.code]
    means = np.bincount(rated.row, rated.n * x) / rated.m
    squares = np.bincount(rated.row, rated.n * (x - means[rated.row]) ** 2)
    within = float(np.sum(rated.weights * squares * rated.m / (rated.m - 1.0)))
    return float(1.0 - within * (n - 1.0) / (n * float(each @ (x * x))))
