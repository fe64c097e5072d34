"""What the page draws of a column: confusion tables, the calibration curve, histograms."""

from __future__ import annotations

import numpy as np

from trueground.stats import calibration
from trueground.stats.human.column import Column
from trueground.stats.human.types import Bin, Histogram

BARS = 20


def confusion_below(column: Column, below: int) -> dict[str, int]:
    """How many items of each label have a verdict of yes or no, no in the lowest `below` places."""
    tn, fn = (int(upto[below]) for upto in column.upto)
    n, p = (int(upto[-1]) for upto in column.upto)
    return {"tp": p - fn, "fp": n - tn, "fn": fn, "tn": tn}


def reliability(column: Column) -> list[Bin] | None:
    """The bins of the calibration error, rising; None where the score is no probability."""
    if column.bins is None:
        return None
    return [
        Bin(
            low=float(one["low"]),
            high=float(one["high"]),
            mean_score=float(one["mean_probability"]),
            share_positive=float(one["share_positive"]),
            n=int(one["n"]),
        )
        for one in calibration.reliability(column.scores, column.positive)
    ]


def histogram(column: Column, unit_scale: bool) -> Histogram:
    """Scores by 0/1 label on one axis: from 0 to 1 for probabilities, else as far as they go."""
    if not column.n:
        return Histogram([], {"0": [], "1": []})
    low, high = float(column.distinct[0]), float(column.distinct[-1])
    if column.bins is not None and unit_scale:
        low, high = 0.0, 1.0
    elif low == high:
        low, high = low - 0.5, high + 0.5
    along = np.arange(BARS + 1) / BARS
    edges = low * (1 - along) + high * along
    inner = np.searchsorted(edges[1:-1], column.scores, side="right")
    counts = {
        name: np.bincount(inner[which], minlength=BARS).tolist()
        for name, which in (("0", ~column.positive), ("1", column.positive))
    }
    return Histogram(edges.tolist(), counts)
