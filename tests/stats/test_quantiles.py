"""Quantiles against scipy's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from trueground.stats.quantiles import (
    beta_probability,
    beta_quantile,
    normal_quantile,
    t_quantile,
)

SHAPE = st.floats(0.1, 1e5)
P = st.floats(1e-6, 1 - 1e-6)


@given(P)
def test_normal(p: float) -> None:
    assert normal_quantile(p) == pytest.approx(special.ndtri(p), rel=1e-9, abs=1e-9)


@given(st.floats(1, 1e6), P)
def test_t(df: float, p: float) -> None:
    assert t_quantile(df, p) == pytest.approx(special.stdtrit(df, p), rel=1e-7, abs=1e-7)


@given(SHAPE, SHAPE, st.floats(0, 1))
def test_beta_probability(a: float, b: float, x: float) -> None:
    assert beta_probability(a, b, x) == pytest.approx(special.betainc(a, b, x), rel=1e-7, abs=1e-12)


@given(SHAPE, SHAPE, P)
def test_beta(a: float, b: float, p: float) -> None:
    x = beta_quantile(a, b, p)
    assert x == pytest.approx(special.betaincinv(a, b, p), rel=1e-7, abs=1e-12)
