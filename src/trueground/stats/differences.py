"""Differences of paired scores, without the noise of their last digits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
DECIMALS = 12  # 0.3 − 0.2 and 0.2 − 0.1 are a tie, and so are 0.3 and 0.1 + 0.2


def differences(a: Floats, b: Floats) -> Floats:
    """b − a to DECIMALS decimals, of arrays of one shape; NaN stays NaN.

    Whatever tests, counts, names or sizes differences takes these, so that all agree on what a
    difference is.
    """
    return without_noise(b - a)


def without_noise(values: Floats) -> Floats:
    """Differences, or sums of some, to DECIMALS decimals."""
    return np.asarray(np.round(values, DECIMALS), np.float64)
