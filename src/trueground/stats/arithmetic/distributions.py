"""Tails and quantiles of distributions, and random numbers from them; see the package.

SciPy's are compiled from C++ and call the C library, and so are NumPy's generators for other than
uniform numbers. Relative errors here are some 1e-14.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from trueground.stats.arithmetic import arrays
from trueground.stats.arithmetic.arrays import polynomial
from trueground.stats.arithmetic.scalars import exp, log, log1p, logistic

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_ROOT_OF_PI = 1.7724538509055159
_LOG_ROOT_TWO_PI = 0.9189385332046727
_FEWEST_FOR_STIRLING = 16.0
_MOST_TERMS = 100_000  # of a continued fraction: some multiple of √(a + b)
_TINY = 1e-300
_MANY_FREEDOMS = 5_000.0
_MOST_STEPS = 200
_FARTHEST_LOGIT = 700.0
_LAST_STEP = 1e-9

# Wichura 1988, "Algorithm AS 241: the percentage points of the normal distribution" (PPND16):
# numerators and denominators near the middle, in the tails, and far out.
_MIDDLE = (
    (
        3.3871328727963666080e0,
        1.3314166789178437745e2,
        1.9715909503065514427e3,
        1.3731693765509461125e4,
        4.5921953931549871457e4,
        6.7265770927008700853e4,
        3.3430575583588128105e4,
        2.5090809287301226727e3,
    ),
    (
        1.0,
        4.2313330701600911252e1,
        6.8718700749205790830e2,
        5.3941960214247511077e3,
        2.1213794301586595867e4,
        3.9307895800092710610e4,
        2.8729085735721942674e4,
        5.2264952788528545610e3,
    ),
)
_TAIL = (
    (
        1.42343711074968357734e0,
        4.63033784615654529590e0,
        5.76949722146069140550e0,
        3.64784832476320460504e0,
        1.27045825245236838258e0,
        2.41780725177450611770e-1,
        2.27238449892691845833e-2,
        7.74545014278341407640e-4,
    ),
    (
        1.0,
        2.05319162663775882187e0,
        1.67638483018380384940e0,
        6.89767334985100004550e-1,
        1.48103976427480074590e-1,
        1.51986665636164571966e-2,
        5.47593808499534494600e-4,
        1.05075007164441684324e-9,
    ),
)
_FAR = (
    (
        6.65790464350110377720e0,
        5.46378491116411436990e0,
        1.78482653991729133580e0,
        2.96560571828504891230e-1,
        2.65321895265761230930e-2,
        1.24266094738807843860e-3,
        2.71155556874348757815e-5,
        2.01033439929228813265e-7,
    ),
    (
        1.0,
        5.99832206555887937690e-1,
        1.36929880922735805310e-1,
        1.48753612908506148525e-2,
        7.86869131145613259100e-4,
        1.84631831751005468180e-5,
        1.42151175831644588870e-7,
        2.04426310338993978564e-15,
    ),
)


def normal_quantiles(p: Floats) -> Floats:
    """Return the standard normal quantiles of probabilities between 0 and 1, exclusive."""
    p = np.asarray(p, np.float64)
    q = p - 0.5
    r = 0.180625 - q * q
    middle = q * (polynomial(r, _MIDDLE[0]) / polynomial(r, _MIDDLE[1]))
    r = np.sqrt(-arrays.log(np.minimum(p, 1.0 - p)))
    tail = polynomial(r - 1.6, _TAIL[0]) / polynomial(r - 1.6, _TAIL[1])
    far = polynomial(r - 5.0, _FAR[0]) / polynomial(r - 5.0, _FAR[1])
    outside = np.where(r <= 5.0, tail, far)
    return np.asarray(
        np.where(np.abs(q) <= 0.425, middle, np.where(q < 0, -outside, outside)), np.float64
    )


def normal_quantile(p: float) -> float:
    """Return the standard normal quantile of a probability between 0 and 1, exclusive."""
    return float(normal_quantiles(np.array([p]))[0])


def normal_tails(z: float) -> float:
    """Return how likely a standard normal number is as far from 0 as `z`, on either side."""
    x = abs(z) / math.sqrt(2.0)
    if x < 1.0:
        term, terms = x, [x]
        for n in range(1, 40):
            term = -term * x * x / n
            terms.append(term / (2 * n + 1))
        return 1.0 - 2.0 * math.fsum(terms) / _ROOT_OF_PI
    fraction = x
    for n in range(300, 0, -1):
        fraction = x + n / 2.0 / fraction
    return exp(-x * x) / _ROOT_OF_PI / fraction


def beta_cdf(x: float, a: float, b: float) -> float:
    """Return the regularized incomplete beta function: P(X <= x) for X ~ Beta(a, b)."""
    if x <= 0.0 or x >= 1.0:
        return float(x >= 1.0)
    return _beta_tail(x, 1.0 - x, a, b)


def beta_quantile(p: float, a: float, b: float) -> float:
    """Return x with `beta_cdf(x, a, b)` = p, for 0 < p < 1."""
    return logistic(_beta_quantile_logit(p, a, b))


def t_quantile(p: float, freedom: float) -> float:
    """Return the quantile of Student's t with `freedom` degrees, above 0, for 0 < p < 1."""
    if p == 0.5:
        return 0.0
    tail, sign = (p, -1.0) if p < 0.5 else (1.0 - p, 1.0)
    if freedom > _MANY_FREEDOMS:
        return -sign * _t_by_normal(normal_quantile(tail), freedom)
    # freedom / (freedom + T²) has the distribution Beta(freedom / 2, 1 / 2).
    return sign * math.sqrt(freedom * exp(-_beta_quantile_logit(2.0 * tail, freedom / 2.0, 0.5)))


def draw_normal(generator: np.random.Generator, size: int) -> Floats:
    """Return standard normal numbers, by inversion of uniform ones."""
    uniform = generator.integers(0, 1 << 52, size).astype(np.float64)
    return normal_quantiles((uniform + 0.5) / float(1 << 52))


def draw_binomial(generator: np.random.Generator, n: Ints, p: Floats, rows: int) -> Floats:
    """Return independent numbers of hits among `n` (k,) tries, each with chance `p` (k,).

    By inversion, so n · p · (1 - p) should be some hundreds at most.

    Returns:
        Shape (rows, k).
    """
    uniform = generator.random((rows, len(p)))
    hits = (uniform < p).astype(np.float64)
    for column in np.flatnonzero(n > 1).tolist():
        rare = min(float(p[column]), 1.0 - float(p[column]))
        cumulative = _binomial_cumulative(int(n[column]), rare)
        drawn = np.searchsorted(cumulative, uniform[:, column], side="right")
        hits[:, column] = drawn if p[column] <= 0.5 else n[column] - drawn
    return hits


def _binomial_cumulative(n: int, p: float) -> Floats:
    """Return P(hits <= k) for k = 0, 1, … up to where the rest is below what a float tells."""
    chance = exp(n * log1p(-p))
    cumulative = [chance]
    for k in range(n - 1):
        chance *= (n - k) / (k + 1) * (p / (1.0 - p))
        cumulative.append(cumulative[-1] + chance)
        if k > n * p and chance < 1e-18:
            break
    return np.array(cumulative)


def _beta_tail(x: float, y: float, a: float, b: float) -> float:
    """Return `beta_cdf` with y = 1 - x, by a continued fraction (Didonato and Morris 1992, BFRAC).

    It is summed by Lentz's method.
    """
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - _beta_tail(y, x, b, a)
    fraction = _beta_denominator(0, x, y, a, b)
    c, d = fraction, 0.0
    for m in range(1, _MOST_TERMS):
        root = a + 2 * m - 1.0
        numerator = m * (a + m - 1.0) * (a + b + m - 1.0) * (b - m) * x * x / (root * root)
        denominator = _beta_denominator(m, x, y, a, b)
        d = denominator + numerator * d
        c = denominator + numerator / c
        d = 1.0 / (d if abs(d) > _TINY else _TINY)
        c = c if abs(c) > _TINY else _TINY
        change = d * c
        fraction *= change
        if abs(change - 1.0) < 2e-16:
            break
    return exp(_log_beta_term(x, y, a, b)) / fraction


def _beta_denominator(m: int, x: float, y: float, a: float, b: float) -> float:
    """Return the m-th partial denominator of the continued fraction."""
    first = m + m * (b - m) * x / (a + 2 * m - 1.0) if m else 0.0
    return first + (a + m) * (a * y - b * x + 1.0 + m * (2.0 - x)) / (a + 2 * m + 1.0)


def _beta_quantile_logit(p: float, a: float, b: float) -> float:
    """Return log(x / (1 - x)) of the quantile x, by Newton's method within shrinking bounds.

    On this scale neither end is lost to rounding. A step that small is the last: the next one, its
    square, is below the last digit.
    """
    low, high = -_FARTHEST_LOGIT, _FARTHEST_LOGIT
    logit = log(a / b)
    for _ in range(_MOST_STEPS):
        x, y = logistic(logit), logistic(-logit)
        apart = _beta_tail(x, y, a, b) - p
        low, high = (low, logit) if apart > 0 else (logit, high)
        density = exp(_log_beta_term(x, y, a, b))
        step = apart / density if abs(apart) < 5.0 * density else math.copysign(5.0, apart)
        if abs(step) < _LAST_STEP:
            return logit - step
        logit -= step
        if not low < logit < high:
            logit = (low + high) / 2
    return logit


def _log_beta_term(x: float, y: float, a: float, b: float) -> float:
    """Return log(xᵃ · yᵇ / B(a, b)), with x + y = 1.

    As Loader 2000, "Fast and accurate computation of binomial probabilities": large logarithms
    would cancel.
    """
    n = a + b
    errors = _stirling_error(n) - _stirling_error(a) - _stirling_error(b)
    deviance = _deviance(a, n * x) + _deviance(b, n * y)
    return errors - deviance + 0.5 * log(a / n * b) - _LOG_ROOT_TWO_PI


def _deviance(k: float, expected: float) -> float:
    """Return k · log(k / expected) + expected - k, without cancellation."""
    apart = k - expected
    if abs(apart) >= 0.1 * (k + expected):
        return k * log(k / expected) - apart
    v = apart / (k + expected)
    terms, power = [apart * v], 2.0 * k * v
    for j in range(1, 20):
        power *= v * v
        terms.append(power / (2 * j + 1))
    return math.fsum(terms)


def _stirling_error(k: float) -> float:
    """Return log Γ(k + 1) less Stirling's log √(2πk) + k · log k - k."""
    if k < _FEWEST_FOR_STIRLING:
        # By the step from k to k + 1, as the series is exact enough for large k only.
        step = (k + 0.5) * log1p(1.0 / k) - 1.0
        return _stirling_error(k + 1.0) + step
    s = 1.0 / (k * k)
    series = 1 / 1260 - s * (1 / 1680 - s * (1 / 1188 - s * (691 / 360360 - s / 156)))
    return (1 / 12 - s * (1 / 360 - s * series)) / k


def _t_by_normal(z: float, freedom: float) -> float:
    """Return Student's quantile from the normal one (Abramowitz and Stegun 26.7.5)."""
    s = z * z
    terms = (
        (s + 1) / 4,
        ((5 * s + 16) * s + 3) / 96,
        (((3 * s + 19) * s + 17) * s - 15) / 384,
        ((((79 * s + 776) * s + 1482) * s - 1920) * s - 945) / 92160,
    )
    series = 0.0
    for term in reversed(terms):
        series = (term + series) / freedom
    return z + z * series
