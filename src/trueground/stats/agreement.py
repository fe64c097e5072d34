"""Agreement of two raters beyond chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def cohen_kappa(table: NDArray[np.integer]) -> float | None:
    """Cohen's kappa (1960) of a square table of counts, shape (k, k).

    None without counts, and where both raters use one and the same category only: chance alone
    would agree always.
    """
    n = int(table.sum())
    if not n:
        return None
    observed = float(np.trace(table)) / n
    expected = float(table.sum(axis=1) @ table.sum(axis=0)) / n**2
    return None if expected == 1.0 else (observed - expected) / (1.0 - expected)
