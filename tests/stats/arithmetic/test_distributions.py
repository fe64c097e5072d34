"""Distributions against SciPy's, and what is drawn from them against what it should be."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from trueground.stats.arithmetic import distributions

RANDOM = np.random.default_rng(0)
LEVELS = (1e-6, 0.005, 0.025, 0.5, 0.8, 0.975, 0.9999)


def test_normal_quantiles_are_those_of_scipy() -> None:
    p = np.concatenate((RANDOM.random(2_000), 10 ** RANDOM.uniform(-300, -1, 500)))
    expected = special.ndtri(p)
    np.testing.assert_allclose(distributions.normal_quantiles(p), expected, rtol=5e-15, atol=1e-15)
    assert distributions.normal_quantile(0.5) == 0.0
    assert distributions.normal_quantile(0.975) == pytest.approx(1.959963984540054, rel=1e-15)


def test_normal_tails_are_those_of_the_c_library() -> None:
    for z in np.linspace(-9, 9, 181).tolist():
        expected = math.erfc(abs(z) / math.sqrt(2))
        assert distributions.normal_tails(z) == pytest.approx(expected, rel=1e-14)


def shapes(count: int) -> list[tuple[float, float]]:
    """From halves to hundreds of thousands."""
    a, b = 10 ** RANDOM.uniform(-0.3, 5.5, (2, count))
    return list(zip(a.tolist(), b.tolist(), strict=True))


@pytest.mark.parametrize(("a", "b"), [*shapes(100), (1.0, 1.0), (0.5, 2e5), (2e5, 0.5)])
def test_beta_is_that_of_scipy(a: float, b: float) -> None:
    for p in LEVELS:
        x = distributions.beta_quantile(p, a, b)
        assert x == pytest.approx(special.betaincinv(a, b, p), rel=2e-13)
        expected = special.betainc(a, b, x)
        assert distributions.beta_cdf(x, a, b) == pytest.approx(expected, rel=1e-12)


def test_beta_outside_its_range() -> None:
    values = [distributions.beta_cdf(x, 2.0, 3.0) for x in (-1.0, 0.0, 1.0, 2.0)]
    assert values == [0.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize("freedom", [1, 2, 2.5, 3, 10, 29, 120, 999, 5_001, 4_999, 1e6, 1e18])
def test_t_quantile_is_that_of_scipy(freedom: float) -> None:
    for p in LEVELS:
        expected = stats.t.ppf(p, freedom)
        assert distributions.t_quantile(p, freedom) == pytest.approx(expected, rel=2e-13, abs=1e-15)


def test_normal_numbers_that_are_drawn_are_normal() -> None:
    numbers = distributions.draw_normal(np.random.Generator(np.random.SFC64(1)), 20_000)
    assert stats.kstest(numbers, "norm").pvalue > 0.01


def test_hits_that_are_drawn_are_binomial() -> None:
    n, p = np.array([1, 3, 40, 900, 900]), np.array([0.3, 0.9, 0.5, 0.01, 0.99])
    hits = distributions.draw_binomial(np.random.Generator(np.random.SFC64(1)), n, p, 20_000)
    assert hits.shape == (20_000, 5)
    for column, tries, chance in zip(hits.T, n, p, strict=True):
        upto = int(tries)
        seen = np.bincount(column.astype(int), minlength=upto + 1)
        expected = stats.binom.pmf(np.arange(upto + 1), tries, chance) * len(column)
        common = expected > 20
        assert seen[~common].sum() < 0.02 * len(column)
        apart = (seen[common] - expected[common]) ** 2 / expected[common]
        assert stats.chi2.sf(apart.sum(), common.sum()) > 0.001
