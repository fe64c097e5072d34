"""From the values of a column and its draws to estimates with intervals."""

from __future__ import annotations

import numpy as np

from trueground.stats.human.calibration import NAME as CALIBRATION
from trueground.stats.human.calibration import calibrated_draws, chance_of, error_of
from trueground.stats.human.column import Column, Kind
from trueground.stats.human.confusion import confusion_measures
from trueground.stats.human.intervals import Found, estimate, spread_of
from trueground.stats.human.pictures import confusion_below, histogram, reliability
from trueground.stats.human.reasons import AGAINST_LIMIT
from trueground.stats.human.scratch import Scratch, Weights
from trueground.stats.human.types import MEASURES, Floats, LabelStats, Measured
from trueground.stats.human.weighing import weigh
from trueground.stats.thresholds import best_threshold

_HUGE = 1e300
_BEST = "balanced_accuracy_best"


def assemble(
    one: Column, units: int, draws: dict[str, Floats], *, level: float, wanted: bool, seed: int
) -> Measured:
    """The column's values, with intervals from its draws; `wanted` is a probability."""
    every = weigh(one, Weights.once(units), Scratch())
    point = {name: float(values[0]) for name, values in every.items()}
    chance = None
    if one.bins is not None:
        point[CALIBRATION] = float(error_of(every)[0])
        resamples = len(next(iter(draws.values())))
        labels = calibrated_draws(one.distinct, one.counts, one.bins, resamples, seed)
        chance = chance_of(every, draws, labels, level)
    one_sided = one.ordinal and (one.positive.all() or not one.positive.any())
    if one_sided:  # a limit that parts no grades: nothing can be said of verdicts
        point |= dict.fromkeys(AGAINST_LIMIT, np.nan)
        chance = None
    best = _best_threshold(one)
    at_best = None
    if best is not None:
        at_best = confusion_below(one, int(np.searchsorted(one.distinct, best, "right")))
        point[_BEST] = float(confusion_measures(**at_best)["balanced_accuracy"])
    found = Found(one, point, draws, chance, level)
    return Measured(
        n=one.n,
        positives=int(one.positive.sum()),
        level=level,
        threshold=one.threshold,
        estimates={name: estimate(name, found, wanted) for name in MEASURES},
        best_threshold=best,
        by_label=[_by_label(kind, name, found) for kind, name in zip(one.kinds, "01", strict=True)],
        by_grade=[
            _by_label(kind, f"grade {number}", found) for number, kind in enumerate(one.grades)
        ],
        confusion=None if one_sided or one.threshold is None else confusion_below(one, one.below),
        confusion_best=at_best,
        reliability=None if one_sided else reliability(one),
        histogram=histogram(one, unit_scale=wanted),
        chance=chance,
        draws={name: draws[name] for name in MEASURES if name in draws},
    )


def _best_threshold(one: Column) -> float | None:
    """As in stats.thresholds; None where no threshold tells anything apart."""
    if len(one.distinct) < 2 or one.positive.all() or not one.positive.any():
        return None
    # Differences of the greatest numbers there are would overflow.
    factor = 2.0**-20 if np.abs(one.distinct).max() > _HUGE else 1.0
    return best_threshold(one.scores * factor, one.positive) / factor


def _by_label(kind: Kind, name: str, found: Found) -> LabelStats:
    return LabelStats(
        kind.label,
        kind.n,
        *(spread_of(kind, f"{name}/{key}", found) for key in ("mean", "median", "sd")),
    )
