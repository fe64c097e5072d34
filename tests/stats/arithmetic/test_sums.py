"""Sums and products against exact fractions and NumPy's."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from trueground.stats.arithmetic import sums

RANDOM = np.random.default_rng(0)


@given(st.lists(st.floats(-1e9, 1e9), min_size=1))
def test_total_is_the_exact_sum_in_any_order(values: list[float]) -> None:
    exact = float(sum(map(Fraction, values)))
    assert sums.total(np.array(values)) == sums.total(values[::-1]) == exact


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 64, 1001])
@pytest.mark.parametrize("axis", [0, 1])
def test_totals_are_those_of_numpy(n: int, axis: int) -> None:
    table = RANDOM.random((n, 5) if axis == 0 else (5, n))
    np.testing.assert_allclose(sums.total(table, axis), table.sum(axis=axis), rtol=1e-14)


def test_totals_do_not_depend_on_the_layout_in_memory() -> None:
    table = RANDOM.random((1001, 5))
    expected = sums.total(table, axis=0).tolist()
    assert sums.total(np.asfortranarray(table), axis=0).tolist() == expected
    assert sums.total(table.T.copy(), axis=1).tolist() == expected
    assert [sums.total(table[:, [k]], axis=0)[0] for k in range(5)] == expected


def test_totals_leave_the_table_as_it_is() -> None:
    table = RANDOM.random((1, 5))
    sums.total(table, axis=0)[:] = 0
    assert (table > 0).all()


def test_mean_and_spread_are_those_of_numpy() -> None:
    values = RANDOM.normal(5, 2, 1_000)
    assert sums.mean(values) == pytest.approx(values.mean(), rel=1e-15)
    assert sums.variance(values, ddof=1) == pytest.approx(values.var(ddof=1), rel=1e-14)
    assert sums.standard_deviation(values) == pytest.approx(values.std(), rel=1e-14)


@pytest.mark.parametrize("columns", [1, 3, 400])
def test_product_with_whole_numbers_is_right_to_the_last_digit(columns: int) -> None:
    values = RANDOM.random((4, 256)) * 10.0 ** RANDOM.integers(-3, 9, (4, 1))
    weights = RANDOM.poisson(1, (256, columns)).astype(np.float64)
    result = sums.exact_product(values, weights, 2048)
    for row, column in ((0, 0), (3, columns - 1)):
        pairs = zip(values[row].tolist(), weights[:, column].tolist(), strict=True)
        exact = float(sum(Fraction(value) * int(weight) for value, weight in pairs))
        assert result[row, column] == pytest.approx(exact, abs=math.ulp(exact))


def test_product_with_whole_numbers_does_not_depend_on_the_order() -> None:
    """The order of items, as another BLAS would have it."""
    values, weights = RANDOM.random((3, 256)), RANDOM.poisson(1, (256, 50)).astype(np.float64)
    expected = sums.exact_product(values, weights, 2048)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(256)
        assert (sums.exact_product(values[:, order], weights[order], 2048) == expected).all()
        plain = values[:, order] @ weights[order]
        assert plain == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("scale", [1e-300, 5e-324, 1e300])
def test_product_of_huge_and_tiny_numbers(scale: float) -> None:
    values = np.array([[scale, 0.0], [0.0, 0.0]])
    weights = np.array([[2.0, 1.0], [1.0, 0.0]])
    product = sums.exact_product(values, weights, 3)
    assert product.tolist() == [[2 * scale, scale], [0.0, 0.0]]


@pytest.mark.parametrize("largest", [10, 10**6])
def test_products_of_counts_are_exact_until_they_are_too_large(largest: int) -> None:
    a = RANDOM.integers(0, largest, (3, 500)).astype(np.float64)
    limit = float(largest) ** 2 * 500
    exact = [sum(int(x) ** 2 for x in row) for row in a.tolist()]
    assert sums.dot_count_rows(a, a, limit) == pytest.approx(exact, rel=1e-15)


def test_groups_are_added_up() -> None:
    table, starts = RANDOM.random((10, 3)), np.array([0, 4, 5])
    expected = np.add.reduceat(table, starts)
    np.testing.assert_allclose(sums.group_totals(table, starts), expected, rtol=1e-15)
    assert sums.group_totals(table[:, :0], starts).shape == (3, 0)


def test_combined_columns_are_a_product() -> None:
    table, weights = RANDOM.random((20, 4)), RANDOM.random(4)
    np.testing.assert_allclose(sums.combine(table, weights), table @ weights, rtol=1e-15)


@pytest.mark.parametrize("n", [1, 2, 6, 15])
def test_solution_is_that_of_lapack(n: int) -> None:
    rows = RANDOM.normal(size=(3 * n, n))
    matrix, right = rows.T @ rows, RANDOM.normal(size=n)
    expected = np.linalg.solve(matrix, right)
    np.testing.assert_allclose(sums.solve(matrix, right), expected, rtol=1e-11)


def test_singular_matrix_is_an_error() -> None:
    with pytest.raises(ZeroDivisionError):
        sums.solve(np.zeros((2, 2)), np.ones(2))


def test_counts() -> None:
    table = np.array([[True, False], [True, True]])
    assert sums.sum_counts(table) == 3
    assert sums.sum_counts(table, axis=0).tolist() == [2, 1]
    assert sums.sum_counts(np.array([2, 3], np.uint8)) == 5
