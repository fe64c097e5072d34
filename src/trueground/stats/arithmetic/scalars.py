"""Elementary functions of one float, with the same bits on every machine; see the package.

The algorithms are those of FDLIBM (Freely Distributable Math Library, Sun Microsystems 1993), which
take single IEEE operations only. Errors are below one unit in the last place, of `power` and
`log2` a few. `arrays` has the same functions for arrays, which give the same bits.
"""

from __future__ import annotations

import math
from typing import Literal

LN2 = 0.6931471805599453
LN10 = 2.302585092994046
LN2_HIGH = 6.93147180369123816490e-01  # its last 32 bits are 0: times an exponent it is exact
LN2_LOW = 1.90821492927058770002e-10
INVERSE_LN2 = 1.44269504088896338700
SQRT_HALF = 0.7071067811865476
HIGHEST_POWER = 709.782712893384  # e to a power above this is infinite
LOWEST_POWER = -745.1332191019412  # e to a power below this is 0

# x · coth(x / 2) = 2 + EXP[0] x² + EXP[1] x⁴ + …
EXP = (
    1.66666666666666019037e-01,
    -2.77777777770155933842e-03,
    6.61375632143793436117e-05,
    -1.65339022054652515390e-06,
    4.13813679705723846039e-08,
)
# log((1 + s) / (1 - s)) = 2 s + s³ (LOG[0] + LOG[1] s² + …)
LOG = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)


def exp(x: float) -> float:
    """Return e to the power x, infinite or 0 if it is too large or too small for a float."""
    if math.isnan(x):
        return x
    if x > HIGHEST_POWER:
        return math.inf
    if x < LOWEST_POWER:
        return 0.0
    k = round(x * INVERSE_LN2)
    high, low = x - k * LN2_HIGH, k * LN2_LOW
    r = high - low
    t = r * r
    c = r - t * (EXP[0] + t * (EXP[1] + t * (EXP[2] + t * (EXP[3] + t * EXP[4]))))
    y = 1.0 - ((low - (r * c) / (2.0 - c)) - high)
    half = k // 2  # 2 to the power k alone may be out of range
    return y * math.ldexp(1.0, half) * math.ldexp(1.0, k - half)


def log(x: float, base: Literal[2, 10] | None = None) -> float:
    """Return the logarithm of x, natural or to a base. Raises ValueError unless x is above 0."""
    if base == 2:
        return log2(x)
    natural = log_of_sum(x, 0.0)
    return natural if base is None else natural / LN10


def log1p(x: float) -> float:
    """Return the natural logarithm of 1 + x. Raises ValueError unless x is above -1."""
    u = 1.0 + x
    if math.isinf(u):
        return u
    # What u lost by rounding, exactly (Knuth's TwoSum).
    part = u - 1.0
    lost = (1.0 - (u - part)) + (x - part)
    return log_of_sum(u, lost)


def log_of_sum(x: float, lost: float) -> float:
    """Return log(x + lost), where `lost` is at most half a unit in the last place of x."""
    if x <= 0:
        raise ValueError(f"log({x}): expected a number above 0")
    if math.isinf(x) or math.isnan(x):
        return x
    m, k = math.frexp(x)
    if m < SQRT_HALF:
        m, k = 2.0 * m, k - 1
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    r = LOG[5] + z * LOG[6]
    for coefficient in (LOG[4], LOG[3], LOG[2], LOG[1], LOG[0]):
        r = coefficient + z * r
    half_square = 0.5 * f * f
    low = s * (half_square + z * r) + (k * LN2_LOW + lost / x)
    return k * LN2_HIGH - ((half_square - low) - f)


def log2(x: float) -> float:
    """Return the logarithm of x to base 2, exact for powers of two. Raises ValueError as `log`."""
    m, k = math.frexp(x)
    if m < SQRT_HALF:
        m, k = 2.0 * m, k - 1
    return k + log(m) / LN2


def power(base: float, exponent: float) -> float:
    """Return `base`, which must be above 0, to the power `exponent`."""
    return exp(exponent * log(base))


def logistic(z: float) -> float:
    """Return 1 / (1 + exp(-z)), without overflow."""
    return 1.0 / (1.0 + exp(-z))


def logit(p: float) -> float:
    """Return log(p / (1 - p)) of a probability between 0 and 1, exclusive."""
    return log(p / (1.0 - p))
