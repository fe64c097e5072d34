"""From the values of a column and its draws to estimates with intervals."""

from __future__ import annotations

import numpy as np

from trueground.stats.bootstrap import percentiles
from trueground.stats.human.column import Column, Kind
from trueground.stats.human.pictures import confusion_at, histogram, reliability
from trueground.stats.human.reasons import why_no_interval, why_undefined
from trueground.stats.human.scratch import Scratch, Weights
from trueground.stats.human.types import MEASURES, Estimate, Floats, LabelStats, Measured
from trueground.stats.human.weighing import weigh
from trueground.stats.thresholds import best_threshold

# What is chosen on the items themselves, and so comes out too high.
OPTIMISTIC = ("balanced_accuracy_best", "calibration_error")
_HUGE = 1e300


def assemble(
    one: Column, units: int, draws: dict[str, Floats], level: float, wanted: bool
) -> Measured:
    """The column's values, with intervals from its draws."""
    every = weigh(one, Weights.once(units), Scratch())
    point = {name: float(values[0]) for name, values in every.items()}
    draws = draws | {
        name: _unbiased(draws[name], point[name]) for name in OPTIMISTIC if name in draws
    }
    estimates = {
        name: _estimate(name, one, point.get(name, np.nan), draws.get(name), level, wanted)
        for name in MEASURES
    }
    best = None
    if estimates["balanced_accuracy_best"].value is not None:
        best = _best_threshold(one)
    return Measured(
        n=one.n,
        positives=int(one.positive.sum()),
        level=level,
        threshold=one.threshold,
        estimates=estimates,
        best_threshold=best,
        by_label=[
            _by_label(kind, name, point, draws, level)
            for kind, name in zip(one.kinds, "01", strict=True)
        ],
        by_grade=[
            _by_label(kind, f"grade {number}", point, draws, level)
            for number, kind in enumerate(one.grades)
        ],
        confusion=confusion_at(one, one.threshold),
        confusion_best=confusion_at(one, best),
        reliability=reliability(one),
        histogram=histogram(one, unit_scale=wanted),
        draws={name: draws.get(name, np.empty(0)) for name in MEASURES},
    )


def _best_threshold(one: Column) -> float:
    """As in stats.thresholds; differences of the greatest numbers there are would overflow."""
    scores = one.scores
    factor = 2.0**-20 if np.abs(scores).max() > _HUGE else 1.0
    return best_threshold(scores * factor, one.positive) / factor


def _unbiased(draws: Floats, value: float) -> Floats:
    """The draws, moved so that their mean is the value; both measures lie between 0 and 1.

    A sample makes the best threshold look better, and the bins worse, than they are; a resample of
    it does so again. Moved, the interval holds the value and covers the truth more often.
    """
    if np.isnan(draws).all():
        return draws
    return np.clip(draws + (value - np.nanmean(draws)), 0.0, 1.0)


def _estimate(
    name: str, one: Column, value: float, draws: Floats | None, level: float, wanted: bool
) -> Estimate:
    positives = int(one.positive.sum())
    n = {"false_negative_rate": positives, "false_positive_rate": one.n - positives}.get(
        name, one.n
    )
    if not np.isfinite(value):
        return Estimate(None, None, n, why_undefined(name, one, wanted))
    why = why_no_interval(name, one)
    ci = None if why or draws is None else percentiles(draws, level)
    return Estimate(value, ci, n, why)


def _by_label(
    kind: Kind, name: str, point: dict[str, float], draws: dict[str, Floats], level: float
) -> LabelStats:
    found = {}
    units = len(np.unique(kind.unit))
    for key in ("mean", "median", "sd"):
        value = point[f"{name}/{key}"]
        if not np.isfinite(value):
            why = "no item has this label" if not kind.n else "one item has no spread"
            why = why if kind.n < 2 else "the scores are too large"
            found[key] = Estimate(None, None, kind.n, why)
        elif units < 2:
            why = "all its items are one item or one group: nothing to draw from"
            found[key] = Estimate(value, None, kind.n, why)
        else:
            found[key] = Estimate(value, percentiles(draws[f"{name}/{key}"], level), kind.n)
    return LabelStats(kind.label, kind.n, found["mean"], found["median"], found["sd"])
