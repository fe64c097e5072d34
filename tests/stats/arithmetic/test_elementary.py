"""Elementary functions: as exact as promised, and the same bits one by one and elementwise."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext

import numpy as np
import pytest

from trueground.stats.arithmetic import arrays, scalars

RANDOM = np.random.default_rng(0)
AROUND_ZERO = np.concatenate((RANDOM.normal(size=1_000), RANDOM.normal(size=500) * 1e-8))
POSITIVE = np.concatenate((np.exp2(RANDOM.uniform(-100, 300, 1_000)), 1 + AROUND_ZERO / 8))
CASES = {
    "exp": (np.concatenate((RANDOM.uniform(-700, 709, 1_000), AROUND_ZERO)), Decimal.exp),
    "log": (POSITIVE[POSITIVE > 0], Decimal.ln),
    "log1p": (np.concatenate((AROUND_ZERO / 8, POSITIVE)), lambda x: (1 + x).ln()),
}


@pytest.mark.parametrize("name", CASES)
def test_function_is_within_one_unit_in_the_last_place(name: str) -> None:
    values, exact = CASES[name]
    results = getattr(arrays, name)(values)
    with localcontext() as context:
        context.prec = 80
        for value, result in zip(values.tolist(), results.tolist(), strict=True):
            expected = exact(Decimal(value))
            error = abs(Decimal(result) - expected)
            assert error <= Decimal(math.ulp(float(expected))), value


@pytest.mark.parametrize("name", [*CASES, "log2", "logistic"])
def test_array_has_the_bits_of_its_numbers(name: str) -> None:
    values = CASES["exp"][0] if name == "logistic" else CASES.get(name, CASES["log"])[0]
    one_by_one = [getattr(scalars, name)(value) for value in values.tolist()]
    assert getattr(arrays, name)(values).tolist() == one_by_one


def test_exp_of_extremes_neither_fails_nor_warns() -> None:
    values = [math.inf, 1e300, 710.0, 0.0, -0.0, -746.0, -1e300, -math.inf]
    expected = [math.inf, math.inf, math.inf, 1.0, 1.0, 0.0, 0.0, 0.0]
    assert list(map(scalars.exp, values)) == expected
    assert arrays.exp(np.array(values)).tolist() == expected
    assert math.isnan(scalars.exp(math.nan))
    assert np.isnan(arrays.exp(np.array([math.nan])))


def test_exp_of_least_numbers_is_near_that_of_the_c_library() -> None:
    for value in (-708.5, -720.25, -745.0):
        assert scalars.exp(value) == pytest.approx(math.exp(value), rel=1e-15, abs=5e-324)


def test_log_of_extremes() -> None:
    values = np.array([0.0, -1.0, math.inf, math.nan, 5e-324])
    results = arrays.log(values)
    assert results[0] == -math.inf
    assert np.isnan(results[[1, 3]]).all()
    assert results[2] == math.inf
    assert results[4] == pytest.approx(math.log(5e-324), rel=1e-15)
    for value in (0.0, -1.0):
        with pytest.raises(ValueError, match="expected a number above 0"):
            scalars.log(value)


def test_log2_of_powers_of_two_is_exact() -> None:
    powers = range(-1000, 1000, 7)
    assert [scalars.log2(math.ldexp(1.0, power)) for power in powers] == list(powers)


@pytest.mark.parametrize(
    ("ours", "of_numpy"),
    [(arrays.arcsin, np.arcsin), (arrays.log2, np.log2)],
    ids=["arcsin", "log2"],
)
def test_function_is_near_that_of_numpy(
    ours: Callable[[arrays.Floats], arrays.Floats], of_numpy: np.ufunc
) -> None:
    values = np.concatenate((RANDOM.uniform(1e-9, 1, 1_000), [0.5, 1.0, 1e-12]))
    np.testing.assert_allclose(ours(values), of_numpy(values), rtol=1e-15, atol=1e-15)


def test_arcsin_is_odd_and_exact_at_the_ends() -> None:
    values = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    assert arrays.arcsin(values)[[0, 2, 4]].tolist() == [-math.pi / 2, 0.0, math.pi / 2]
    assert (arrays.arcsin(-values) == -arrays.arcsin(values)).all()


def test_logistic_never_falls_and_has_no_overflow() -> None:
    z = np.concatenate(([-1e6], np.linspace(-800, 800, 20_001), [1e6]))
    p = arrays.logistic(z)
    assert (np.diff(p) >= 0).all()
    assert (p[0], p[-1]) == (0.0, 1.0)


def test_log_of_exp_plus_one_is_near_that_of_numpy() -> None:
    z = np.linspace(-800, 800, 1_001)
    np.testing.assert_allclose(arrays.log_of_exp_plus_one(z), np.logaddexp(0.0, z), rtol=1e-15)


def test_interpolation_is_that_of_numpy() -> None:
    knots, values = np.sort(RANDOM.random(20)), RANDOM.random(20)
    x = np.concatenate((RANDOM.uniform(-0.2, 1.2, 500), knots))
    ours = arrays.interpolate(x, knots, values)
    np.testing.assert_allclose(ours, np.interp(x, knots, values), atol=1e-15)
    assert (arrays.interpolate(knots, knots, values) == values).all()
    assert (arrays.interpolate(x, knots[:1], values[:1]) == values[0]).all()
