"""Quantiles of the normal, Student's t and the beta distribution, without a library to load.

The regularised incomplete beta function is the continued fraction of DLMF 8.17.22, evaluated by
Lentz's method (Thompson & Barnett 1986); quantiles are found by halving.
"""

from __future__ import annotations

import math
from statistics import NormalDist

_TINY = 1e-300
_CLOSE = 1e-16
_TERMS = 100_000
_HALVINGS = 1_100  # down to the smallest numbers there are


def normal_quantile(p: float) -> float:
    """The standard normal's quantile, 0 < p < 1."""
    return NormalDist().inv_cdf(p)


def t_quantile(df: float, p: float) -> float:
    """Student's t quantile with `df` > 0 degrees of freedom, 0 < p < 1."""
    if p == 0.5:
        return 0.0
    x = beta_quantile(df / 2, 0.5, 2 * min(p, 1 - p))
    return math.copysign(math.sqrt(df * (1 - x) / x), p - 0.5)


def beta_quantile(a: float, b: float, p: float) -> float:
    """The x at which the beta distribution with a > 0 and b > 0 has the probability p below it."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if beta_probability(a, b, middle) < p:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def beta_probability(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), 0 ≤ x ≤ 1."""
    if x <= 0 or x >= 1:
        return float(x > 0)
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(scale + a * math.log(x) + b * math.log1p(-x))
    if x <= (a + 1) / (a + b + 2):  # where the fraction converges quickly
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1) or _TINY)
    value = d
    for m in range(1, _TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        before = value
        for term in (even, odd):
            d = 1 / (1 + term * d or _TINY)
            c = 1 + term / c or _TINY
            value *= c * d
        if abs(value - before) <= _CLOSE * abs(value):
            break
    return value
