"""Labels of items by annotators as arrays, and what can be had of them."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from trueground.errors import UsageError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Statistic(Protocol):
    """What can have an interval; `functools.partial` settles further arguments."""

    def __call__(self, labels: Floats, *, weights: Floats | None = None) -> float | None:
        """The statistic of labels (items, annotators), each item counted `weights` times."""
        ...


class Rated(NamedTuple):
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


def rated_items(labels: Floats, weights: Floats | None) -> Rated:
    """The items that two or more have labelled, each counted `weights` times."""
    array = as_array(labels)
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
    return Rated(
        m, pairs / (m * (m - 1.0)), w, float(w.sum()), row, code, n.astype(np.float64), values
    )


def as_array(labels: Floats) -> Floats:
    """The labels as numbers. UsageError: not of shape (items, annotators)."""
    array = np.asarray(labels, np.float64)
    if array.ndim != 2:
        raise UsageError(f"labels have shape {array.shape}; expected (items, annotators)")
    return array
