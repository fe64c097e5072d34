"""Elementary functions of arrays of floats, with the same bits on every machine; see the package.

They are those of `scalars`, with the same operations in the same order. NaN stays NaN.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trueground.stats.arithmetic.scalars import (
    EXP,
    HIGHEST_POWER,
    INVERSE_LN2,
    LN2,
    LN2_HIGH,
    LN2_LOW,
    LOG,
    LOWEST_POWER,
    SQRT_HALF,
)

Floats = NDArray[np.float64]

_HALF_PI = 1.5707963267948966
_BOTH_ENDS = (LOWEST_POWER - 1.0, HIGHEST_POWER + 1.0)
# asin(x) = x + x · P(x²) / Q(x²) for |x| < 0.5 (FDLIBM)
_ASIN_P = (
    1.66666666666666657415e-01,
    -3.25565818622400915405e-01,
    2.01212532134862925881e-01,
    -4.00555345006794114027e-02,
    7.91534994289814532176e-04,
    3.47933107596021167570e-05,
)
_ASIN_Q = (
    1.0,
    -2.40339491173441421878e00,
    2.02094576023350569471e00,
    -6.88283971605453293030e-01,
    7.70381505559019352791e-02,
)


def exp(x: Floats) -> Floats:
    """Return e to the power x, infinite or 0 if it is too large or too small for a float."""
    inside = np.clip(x, *_BOTH_ENDS)
    k = np.rint(inside * INVERSE_LN2)
    high, low = inside - k * LN2_HIGH, k * LN2_LOW
    r = high - low
    t = r * r
    c = r - t * polynomial(t, EXP)
    y = 1.0 - ((low - (r * c) / (2.0 - c)) - high)
    whole = np.nan_to_num(k).astype(np.int32)
    half = whole // 2
    with np.errstate(over="ignore", under="ignore"):
        y = y * np.ldexp(1.0, half) * np.ldexp(1.0, whole - half)
    y = np.where(x > HIGHEST_POWER, np.inf, y)
    return np.asarray(np.where(x < LOWEST_POWER, 0.0, y), np.float64)


def log(x: Floats) -> Floats:
    """Return the natural logarithm, -inf of 0 and NaN below 0."""
    return _log_of_sum(np.asarray(x, np.float64), 0.0)


def log1p(x: Floats) -> Floats:
    """Return the natural logarithm of 1 + x, for finite x; -inf of -1 and NaN below."""
    u = 1.0 + x
    # What u lost by rounding, exactly (Knuth's TwoSum).
    part = u - 1.0
    lost = (1.0 - (u - part)) + (x - part)
    return _log_of_sum(np.asarray(u, np.float64), lost)


def log2(x: Floats) -> Floats:
    """Return the logarithm to base 2 of numbers above 0, exact for powers of two."""
    m, k = _split(np.asarray(x, np.float64))
    return np.asarray(k + log(m) / LN2, np.float64)


def log_of_exp_plus_one(z: Floats) -> Floats:
    """Return log(1 + exp(z)), without overflow."""
    return np.asarray(np.maximum(z, 0.0) + log1p(exp(-np.abs(z))), np.float64)


def logistic(z: Floats) -> Floats:
    """Return 1 / (1 + exp(-z)), without overflow."""
    return np.asarray(1.0 / (1.0 + exp(-np.asarray(z, np.float64))), np.float64)


def arcsin(x: Floats) -> Floats:
    """Return the angle whose sine is x, from -1 to 1."""
    size = np.abs(x)
    near = size < 0.5
    t = np.where(near, size * size, (1.0 - size) * 0.5)
    root = np.where(near, size, np.sqrt(t))
    angle = root + root * (t * polynomial(t, _ASIN_P) / polynomial(t, _ASIN_Q))
    angle = np.where(near, angle, _HALF_PI - 2.0 * angle)
    return np.asarray(np.where(x < 0, -angle, angle), np.float64)


def polynomial(x: Floats, coefficients: tuple[float, ...]) -> Floats:
    """Return coefficients[0] + coefficients[1] · x + …, by Horner's rule."""
    result = coefficients[-1] + np.zeros_like(x)
    for coefficient in coefficients[-2::-1]:
        result = coefficient + x * result
    return np.asarray(result, np.float64)


def interpolate(x: Floats, knots: Floats, values: Floats) -> Floats:
    """Return straight lines between the `knots` (k,), which ascend, level beyond the outermost."""
    right = np.clip(np.searchsorted(knots, x, side="right"), 1, max(len(knots) - 1, 1))
    right = np.minimum(right, len(knots) - 1)
    left = np.maximum(right - 1, 0)
    width = knots[right] - knots[left]
    share = (np.clip(x, knots[left], knots[right]) - knots[left]) / np.where(width > 0, width, 1.0)
    between = values[left] + share * (values[right] - values[left])
    # The ends of a line are its values, which rounding could miss.
    between = np.where(x >= knots[right], values[right], between)
    return np.asarray(np.where(x <= knots[left], values[left], between), np.float64)


def _log_of_sum(x: Floats, lost: Floats | float) -> Floats:
    """Return log(x + lost), where `lost` is at most half a unit in the last place of x."""
    usual = (x > 0) & np.isfinite(x)
    inside = np.where(usual, x, 1.0)
    m, k = _split(inside)
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    r = polynomial(z, LOG)
    half_square = 0.5 * f * f
    low = s * (half_square + z * r) + (k * LN2_LOW + lost / inside)
    value = k * LN2_HIGH - ((half_square - low) - f)
    special = np.where(x == 0, -np.inf, np.where(x == np.inf, np.inf, np.nan))
    return np.asarray(np.where(usual, value, special), np.float64)


def _split(x: Floats) -> tuple[Floats, Floats]:
    """Return (m, k) with x = m · 2 to the power k, and m from the root of 0.5 to that of 2."""
    m, k = np.frexp(x)
    small = m < SQRT_HALF
    return np.where(small, 2.0 * m, m), (k - small).astype(np.float64)
