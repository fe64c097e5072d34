"""Sums, means, spreads and products that have the same bits on every machine; see the package.

- A vector's sum is exact, rounded once (`math.fsum`): no order matters.
- Sums along an axis of a table add one half to the other until one row is left. Each step is one
  elementwise addition, so the order depends on the shape only.
- `exact_product` multiplies matrices of which one holds whole numbers. It cuts the other into
  slices of so few bits that every partial sum is a whole number below 2⁵³, which is exact. So BLAS
  may take any order, and any number of threads.
- `sum_counts` and its kin are for Booleans and whole numbers, exact in any order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_FAR = 1_000
EXACT_BELOW = float(1 << 53)  # whole numbers below this are exact in a float


@overload
def sum_counts(values: NDArray[np.bool_] | NDArray[np.integer]) -> int: ...
@overload
def sum_counts(values: NDArray[np.bool_] | NDArray[np.integer], axis: int) -> NDArray[np.int64]: ...
def sum_counts(
    values: NDArray[np.bool_] | NDArray[np.integer], axis: int | None = None
) -> int | NDArray[np.int64]:
    """Return how many are true, or the sum of whole numbers: of all, or along an axis."""
    if axis is None and values.dtype == np.bool_:
        return int(np.count_nonzero(values))
    counts = values.sum(axis=axis, dtype=np.int64)
    return int(counts) if axis is None else np.asarray(counts)


@overload
def total(values: Floats | Iterable[float]) -> float: ...
@overload
def total(values: Floats, axis: int) -> Floats: ...
def total(values: Floats | Iterable[float], axis: int | None = None) -> float | Floats:
    """Return the exact sum of a vector, rounded once; or of a table the sums along one axis."""
    if axis is not None:
        return _add_halves(np.moveaxis(np.asarray(values), axis, 0))
    return math.fsum(values.tolist() if isinstance(values, np.ndarray) else values)


def group_totals(table: Floats, starts: NDArray[np.integer]) -> Floats:
    """Return the sums of neighboring rows, added one after the other.

    Args:
        table: Shape (n, columns).
        starts: The first row of each group (groups,), ascending from 0.

    Returns:
        Shape (groups, columns).
    """
    width = table.shape[1]
    group = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(table)))
    cell = group[:, None] * width + np.arange(width)
    flat = np.bincount(cell.ravel(), table.ravel(), len(starts) * width)
    return np.asarray(flat.reshape(len(starts), width), np.float64)


def group_counts(table: NDArray[Any], starts: NDArray[np.integer], axis: int = 0) -> NDArray[Any]:
    """Return the sums of neighboring whole numbers along an axis, from each of `starts` on."""
    return np.add.reduceat(table, starts, axis=axis)


@overload
def mean(values: Floats | Sequence[float]) -> float: ...
@overload
def mean(values: Floats, axis: int) -> Floats: ...
def mean(values: Floats | Sequence[float], axis: int | None = None) -> float | Floats:
    """Return the mean of a vector, which is not empty; or of a table the means along an axis."""
    if axis is not None:
        table = np.asarray(values)
        return np.asarray(total(table, axis) / table.shape[axis], np.float64)
    return total(values) / len(values)


def variance(values: Floats, ddof: int = 0) -> float:
    """Return the mean squared deviation of a vector, divided by n - `ddof`."""
    deviation = values - mean(values)
    return total(deviation * deviation) / (len(values) - ddof)


def standard_deviation(values: Floats, ddof: int = 0) -> float:
    """Return the root of `variance`."""
    return math.sqrt(variance(values, ddof))


def dot(a: NDArray[Any], b: NDArray[Any]) -> float:
    """Return the sum of the products of two vectors; the products are rounded, their sum once."""
    return total(np.asarray(a * b, np.float64))


def dot_rows(a: Floats, b: Floats) -> Floats:
    """Return the sum of products of each row of `a` with its partner in `b`, shape (rows,)."""
    return total(a * b, axis=1)


def dot_count_rows(a: NDArray[Any], b: NDArray[Any], limit: float) -> Floats:
    """Return what `dot_rows` does, for tables of whole numbers, halves or quarters.

    Args:
        a: Shape (rows, n).
        b: Shape (rows, n).
        limit: What no sum of sizes exceeds. Up to a quarter of 2⁵³ every order gives the same.

    Returns:
        Shape (rows,).
    """
    if 4 * limit < EXACT_BELOW:
        return np.asarray(np.einsum("ij,ij->i", a, b), np.float64)
    return dot_rows(np.asarray(a, np.float64), np.asarray(b, np.float64))


def sum_count_rows(table: Floats, limit: float = 1.0) -> Floats:
    """Return the sums of the rows of a table of whole numbers, halves or quarters, shape (rows,).

    Args:
        table: Shape (rows, n).
        limit: As in `dot_count_rows`; of weights and counts it need not be given.
    """
    if 4 * limit < EXACT_BELOW:
        return np.asarray(table.sum(axis=1), np.float64)
    return total(table, axis=1)


def combine(table: Floats, weights: Floats | Sequence[float]) -> Floats:
    """Return the weighted sum of the columns of `table` (n, columns), column after column; (n,)."""
    result = np.zeros(len(table))
    for column, weight in zip(table.T, weights, strict=True):
        result = result + column * weight
    return result


def exact_product(values: Floats, weights: Floats, limit: int, slices: int = 2) -> Floats:
    """Return `values` @ `weights`, exact but for what the slices leave out and one rounding each.

    Args:
        values: Finite numbers, shape (k, n).
        weights: Whole numbers, shape (n, columns).
        limit: What the sum of sizes in no column of `weights` exceeds, below 2⁵².
        slices: Into how many slices of 52 - log₂(`limit`) bits each row of `values` is cut, from
            the highest bit of its largest size down. Lower bits are rounded off.

    Returns:
        The product, shape (k, columns).
    """
    bits = 52 - max(limit - 1, 1).bit_length()
    step = float(1 << bits)
    top = np.frexp(np.abs(values).max(axis=1, initial=0.0))[1]
    rest = np.ldexp(values, -top[:, None])
    parts, more = [], []  # the slices, and which of their rows have a next one
    for _ in range(slices):
        rest = rest * step
        parts.append(np.rint(rest))
        rest = rest - parts[-1]
        more.append(rest.any(axis=1))  # 0, 1 and the like fit into one slice
        rest = rest[more[-1]]
    products = np.concatenate(parts) @ weights
    sums = np.split(products, np.cumsum([len(part) for part in parts[:-1]]))
    for number in range(slices - 1, 0, -1):  # the lowest bits first
        sums[number - 1][more[number - 1]] += sums[number] / step
    result, exponents = sums[0], top - bits
    if np.abs(exponents).max(initial=0) > _FAR:  # 2 to this power may be out of range
        result *= np.ldexp(1.0, exponents // 2)[:, None]
        exponents = exponents - exponents // 2
    result *= np.ldexp(1.0, exponents)[:, None]
    return result


def count_product(counts: NDArray[Any], weights: NDArray[Any]) -> Floats:
    """Return `counts` @ `weights`, both whole numbers whose products sum up to less than 2⁵³."""
    return np.asarray(counts @ weights, np.float64)


def solve(matrix: Floats, right: Floats) -> Floats:
    """Solve a small system of equations with a symmetric positive definite matrix.

    Args:
        matrix: Shape (n, n); LDLᵀ is computed in Python, so n should be some tens at most.
        right: Shape (n,).

    Returns:
        x with `matrix` · x = `right`, shape (n,). Raises ZeroDivisionError for a singular matrix.
    """
    n = len(right)
    a, x = matrix.tolist(), right.tolist()
    lower = [[0.0] * n for _ in range(n)]
    diagonal = [0.0] * n
    for j in range(n):
        scaled = [lower[j][k] * diagonal[k] for k in range(j)]
        diagonal[j] = a[j][j] - math.fsum(lower[j][k] * scaled[k] for k in range(j))
        for i in range(j + 1, n):
            known = math.fsum(lower[i][k] * scaled[k] for k in range(j))
            lower[i][j] = (a[i][j] - known) / diagonal[j]
    for i in range(n):
        x[i] -= math.fsum(lower[i][k] * x[k] for k in range(i))
    for i in reversed(range(n)):
        x[i] = x[i] / diagonal[i] - math.fsum(lower[k][i] * x[k] for k in range(i + 1, n))
    return np.array(x, np.float64)


def _add_halves(rest: Floats) -> Floats:
    """Return the sum of the rows: one half is added to the other until one row is left."""
    if not len(rest):
        return np.zeros(rest.shape[1:])
    while len(rest) > 1:
        half = len(rest) // 2
        added = rest[:half] + rest[half : 2 * half]
        rest = np.concatenate((added, rest[2 * half :])) if len(rest) % 2 else added
    return np.array(rest[0], np.float64)
