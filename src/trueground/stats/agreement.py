"""Agreement of raters: raw, and beyond chance by Cohen, Fleiss and Krippendorff.

Labels are an array of shape (items, annotators); NaN is a label that is missing. Every statistic
takes the weights of the items, so that a bootstrap need not build its samples. What is undefined is
None, never 0 or 1.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from trueground.errors import UsageError
from trueground.stats.bootstrap import percentiles

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Measure = Literal["nominal", "ordinal", "interval"]
Weighting = Literal["none", "linear", "quadratic"]


class Statistic(Protocol):
    """What can have an interval; `functools.partial` settles further arguments."""

    def __call__(self, labels: Floats, *, weights: Floats | None = None) -> float | None:
        """The statistic of labels (items, annotators), each item counted `weights` times."""
        ...


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


def raw_agreement(labels: Floats, *, weights: Floats | None = None) -> float | None:
    """The share of pairs of labels that are equal: the mean over items with two labels or more."""
    rated = _rated(labels, weights)
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
    rated = _rated(labels, weights)
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
    rated = _rated(labels, weights)
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


def cohen(
    labels: Floats, weighting: Weighting = "none", *, weights: Floats | None = None
) -> float | None:
    """Cohen's kappa of two annotators, shape (items, 2), over the items that both have labelled.

    `weighting` (Cohen 1968) counts a disagreement as one ("none"), by the difference of the labels
    ("linear") or by its square ("quadratic"); the labels themselves are the scale, so that a grade
    that nobody gave still takes its place. None without such items, and where both gave one and
    the same label throughout. Raises UsageError.
    """
    array = _array(labels)
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


def bootstrap_agreement(
    labels: Floats,
    statistic: Statistic,
    resamples: int = 2_000,
    seed: int = 0,
    level: float = 0.95,
) -> tuple[float, float] | None:
    """A percentile bootstrap interval over the items that have two labels or more.

    `statistic` is one of this module, such as `partial(krippendorff_alpha, measure="ordinal")`.
    Samples in which it is undefined are left out. None where it is undefined for the labels, and
    for fewer than two items.
    """
    array = _array(labels)
    array = array[(~np.isnan(array)).sum(axis=1) >= 2]
    if len(array) < 2 or statistic(array) is None:
        return None
    # Items with the same labels are drawn together: few patterns, however many items.
    codes = np.unique(array, return_inverse=True)[1].reshape(array.shape)
    codes[np.isnan(array)] = -1
    _, firsts, counts = np.unique(codes, axis=0, return_index=True, return_counts=True)
    patterns, shares = array[firsts], counts / len(array)
    random = np.random.Generator(np.random.SFC64([seed, 0]))
    drawn = np.full(resamples, np.nan)
    for number in range(resamples):
        weights = random.multinomial(len(array), shares).astype(np.float64)
        some = weights > 0
        value = statistic(patterns[some], weights=weights[some])
        if value is not None:
            drawn[number] = value
    return percentiles(drawn, level)


class _Rated(NamedTuple):
    """The items with two labels or more.

    Each item has its number of labels `m`, its share of agreeing pairs and its weight. The label
    `values[code]` was given `n` times to the item `row`.
    """

    m: Floats
    agreeing: Floats
    weights: Floats
    total: float
    row: Ints
    code: Ints
    n: Floats
    values: Floats


def _rated(labels: Floats, weights: Floats | None) -> _Rated:
    array = _array(labels)
    given = ~np.isnan(array)
    rows = given.sum(axis=1) >= 2
    array, given = array[rows], given[rows]
    m = given.sum(axis=1).astype(np.float64)
    values, codes = np.unique(array[given], return_inverse=True)
    key = np.nonzero(given)[0] * max(len(values), 1) + codes
    cells, n = np.unique(key, return_counts=True)
    row, code = np.divmod(cells, max(len(values), 1))
    pairs = np.bincount(row, n * (n - 1.0), len(array))
    w = np.ones(len(array)) if weights is None else weights[rows]
    return _Rated(
        m, pairs / (m * (m - 1.0)), w, float(w.sum()), row, code, n.astype(np.float64), values
    )


def _array(labels: Floats) -> Floats:
    array = np.asarray(labels, np.float64)
    if array.ndim != 2:
        raise UsageError(f"labels have shape {array.shape}; expected (items, annotators)")
    return array


def _distance(values: Floats, first: Floats, second: Floats) -> float:
    """The mean distance of two independent draws: E|X - Y|, from their distribution functions."""
    a, b = np.cumsum(first)[:-1], np.cumsum(second)[:-1]
    return float(np.diff(values) @ (a * (1.0 - b) + b * (1.0 - a)))


def _square(values: Floats, first: Floats, second: Floats) -> float:
    """The mean squared distance of two independent draws: both variances, and the means' own."""
    one, other = float(first @ values), float(second @ values)
    spread = first @ (values - one) ** 2 + second @ (values - other) ** 2
    return float(spread) + (one - other) ** 2
