"""From a value and its draws to an estimate: which interval it gets, or why it gets none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueground.stats.bootstrap import percentiles
from trueground.stats.human.calibration import NAME as CALIBRATION
from trueground.stats.human.calibration import ends
from trueground.stats.human.column import Column, Kind
from trueground.stats.human.reasons import LEAST, SAME, why_no_interval, why_undefined
from trueground.stats.human.types import Chance, Estimate, Floats
from trueground.stats.proportions import clopper_pearson

Interval = tuple[float, float]


@dataclass(frozen=True)
class Found:
    """A column, its values and their draws by name, and what chance makes of its calibration."""

    column: Column
    point: dict[str, float]
    draws: dict[str, Floats]
    chance: Chance | None
    level: float


def estimate(name: str, found: Found, wanted: bool) -> Estimate:
    """One of MEASURES; `wanted` is a probability."""
    one, value = found.column, found.point.get(name, np.nan)
    n = len(_rests_on(name, one))
    if not np.isfinite(value):
        return Estimate(None, None, n, why_undefined(name, one, wanted))
    hits = _hits(name, one)
    if hits is not None and one.alone:
        return Estimate(value, clopper_pearson(hits, n, found.level), n)
    if why := why_no_interval(name, one):
        return Estimate(value, None, n, why)
    if name == CALIBRATION and found.chance is not None:
        c = found.chance
        ci = ends(value, c.low, c.up, c.calibrated, found.level)
    else:
        ci = varied(found.draws[name], found.level)
    return Estimate(value, ci, n, None if ci else SAME)


def spread_of(kind: Kind, name: str, found: Found) -> Estimate:
    """Mean, median or standard deviation of the scores of one label."""
    value = found.point[name]
    if not np.isfinite(value):
        why = "no item has this label" if not kind.n else "one item has no spread"
        return Estimate(None, None, kind.n, why if kind.n < 2 else "the scores are too large")
    if len(np.unique(kind.unit)) < LEAST:
        why = f"its items are fewer than {LEAST}, or fewer groups: too few to draw from"
        return Estimate(value, None, kind.n, why)
    # A median may well be the same in every resample, but not where all scores are.
    ci = percentiles(found.draws[name], found.level) if kind.scores[0] < kind.scores[-1] else None
    return Estimate(value, ci, kind.n, None if ci else SAME)


def varied(draws: Floats, level: float) -> Interval | None:
    """The percentile interval; None where all draws are the same, which tells of too few items."""
    some = draws[~np.isnan(draws)]
    if not len(some) or np.ptp(some) <= 1e-12:
        return None
    return percentiles(draws, level)


def _rests_on(name: str, one: Column) -> Floats:
    """The labels of the items that count."""
    sides = {"false_negative_rate": one.positive, "false_positive_rate": ~one.positive}
    return one.labels[sides[name]] if name in sides else one.labels


def _hits(name: str, one: Column) -> int | None:
    """How many items a rate at the threshold counts; None for what is no rate."""
    if one.threshold is None:
        return None
    above, positive = one.scores > one.threshold, one.positive
    counted = {
        "false_negative_rate": ~above & positive,
        "false_positive_rate": above & ~positive,
        "raw_agreement": above == positive,
    }
    return int(counted[name].sum()) if name in counted else None
