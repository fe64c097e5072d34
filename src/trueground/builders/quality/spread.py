"""How numbers spread: their middle, their ends, and a small histogram."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

BINS = 12


def spread(values: Sequence[float], low: float | None = None, high: float | None = None) -> Any:
    """n, min, median, mean, max and a histogram of the values; None where there are none.

    The histogram is {"edges": bins + 1 numbers, "counts": bins numbers}, from `low` to `high` or
    from the least to the greatest value. Whole numbers have no bin narrower than one.
    """
    import numpy as np

    if not len(values):
        return None
    array = np.asarray(values, np.float64)
    whole = low is None and bool((array == np.floor(array)).all())
    least = float(array.min()) if low is None else low
    most = float(array.max()) if high is None else high
    if whole:
        width = max(math.ceil((most - least + 1) / BINS), 1)
        count = math.ceil((most - least + 1) / width)
        edges = least + width * np.arange(count + 1, dtype=np.float64)
    else:
        edges = np.linspace(least, most if most > least else least + 1.0, BINS + 1)
    # A value such as 0.7 may lie just under its edge; what is above the last one is none of these.
    places = np.searchsorted(edges, array + 1e-9, side="right") - 1
    counts = np.bincount(np.clip(places, 0, len(edges) - 2), minlength=len(edges) - 1)
    return {
        "n": len(array),
        "min": float(array.min()),
        "median": float(np.median(array)),
        "mean": float(array.mean()),
        "max": float(array.max()),
        "histogram": {"edges": edges.tolist(), "counts": counts.tolist()},
    }
