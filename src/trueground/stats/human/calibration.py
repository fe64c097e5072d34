"""The calibration error: what chance alone makes of it, and an interval that knows of this.

It is a sum of distances, |mean score − share of positives| bin by bin, so that chance can only add
to it: also calibrated scores have one above 0. Three things are drawn of each bin's gap g:

- what calibrated scores would have: labels are drawn from the scores themselves;
- how far g may lie from the truth: the resamples' gap less g (bins stay as they are);
- where |g| is more than three standard errors, its sign is sure, and chance may push it either way;
  elsewhere chance is taken to have only added. So the lower end is never too high, and may be 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from trueground.stats.bootstrap import Floats, Interval, Ints
from trueground.stats.human.column import LabelledScores
from trueground.stats.human.resampling import Scratch

CALIBRATION = "calibration_error"
_GAP = "gap "
_SURE = 3.0
_NORMAL = 25.0  # a variance of hits from which on the normal law is as good
_DRAWS = 1_000
_ROWS = 128
_STREAM = 0x63616C  # draws of its own, whatever else has this seed


@dataclass(frozen=True)
class CalibrationByChance:
    """What chance makes of a calibration error, at the level of the intervals.

    `mean` is what perfectly calibrated scores would have on average on as many such items, `high`
    what they would stay below. An interval is made of `low` and `up` (resamples,) and `calibrated`
    (1,000 or more,): see `calibration_interval`.
    """

    mean: float
    high: float
    low: Floats
    up: Floats
    calibrated: Floats

    def raw(self) -> dict[str, float]:
        """The JSON form."""
        return {"mean": self.mean, "high": self.high}


def weigh_gaps(
    here: Floats, positive: Floats, scores: Floats, edges: Ints, scratch: Scratch
) -> dict[str, Floats]:
    """What scores promise less what labels hold, of each bin, as a share of all: "gap 0" and on.

    `here` (resamples, places) is the weight of each place, `positive` (resamples, places + 1) that
    of the positives below it, `scores` (places,); each result has the shape (resamples,).
    """
    believed = np.multiply(here, scores, out=scratch.empty("work", *here.shape))
    promised = np.add.reduceat(believed, edges[:-1], axis=1)
    total = here.sum(axis=1)
    # A resample without any of the items has no gap.
    shares = 1.0 / np.where(total > 0, total, np.inf)
    gaps = (promised - np.diff(positive[:, edges], axis=1)) * shares[:, None]
    return {f"{_GAP}{number}": gaps[:, number] for number in range(gaps.shape[1])}


def sum_gaps(values: Mapping[str, Floats]) -> float:
    """The calibration error of the sample, from its gaps."""
    return float(np.abs(_gaps(values)).sum(axis=0)[0])


def calibration_by_chance(
    column: LabelledScores,
    point: Mapping[str, Floats],
    draws: Mapping[str, Floats],
    level: float,
    seed: int,
) -> CalibrationByChance | None:
    """`point` and `draws` hold the gaps of the sample (1,) and of the resamples (resamples,).

    None where the column is no probability.
    """
    if column.bins is None:
        return None
    gap = _gaps(point)
    away = _gaps(draws) - gap
    by_chance = _calibrated_draws(column.distinct, column.counts, column.bins, away.shape[1], seed)
    error = np.sqrt((away**2).sum(axis=1, keepdims=True) / max(away.shape[1], 1))
    sure = np.abs(gap) > _SURE * error
    signed = np.sign(gap) * away
    value = np.abs(gap).sum()
    return CalibrationByChance(
        mean=float(by_chance.mean()),
        high=_high(by_chance, level),
        low=value - np.where(sure, signed, np.abs(away)).sum(axis=0),
        up=value - signed.sum(axis=0),
        calibrated=by_chance,
    )


def calibration_interval(
    value: float, low: Floats, up: Floats, calibrated: Floats, level: float
) -> Interval | None:
    """The interval of a calibration error, or of a mean of some (then draws are means as well).

    It holds the value. Its lower end is 0 unless the value is above what calibrated scores have
    at this level. None where nothing varies.
    """
    if not len(low) or np.ptp(up) == 0:
        return None
    tail = (1 - level) / 2
    least = min(max(float(np.quantile(low, tail)), 0.0), value)
    most = max(min(float(np.quantile(up, 1 - tail)), 1.0), value)
    return (0.0 if value <= _high(calibrated, level) else least), most


def _calibrated_draws(scores: Floats, counts: Ints, edges: Ints, draws: int, seed: int) -> Floats:
    """Calibration errors of labels that are drawn from the scores, one by one; (draws or more,).

    `counts` items (places,) have each of the `scores` (places,).
    """
    random = np.random.Generator(np.random.SFC64([seed, _STREAM]))
    rows = max(draws, _DRAWS)
    total = np.zeros(rows)
    for low, high in pairwise(edges.tolist()):
        open_ = (scores[low:high] > 0) & (scores[low:high] < 1)
        p, n = scores[low:high][open_], counts[low:high][open_]
        variance = float((n * p * (1 - p)).sum())
        if variance >= _NORMAL:
            total += np.abs(random.normal(0.0, np.sqrt(variance), rows))
            continue
        for first in range(0, rows, _ROWS):
            part = total[first : first + _ROWS]
            part += np.abs((random.binomial(n, p, (len(part), len(p))) - n * p).sum(axis=1))
    return np.asarray(total / counts.sum(), np.float64)


def _gaps(values: Mapping[str, Floats]) -> Floats:
    return np.stack([gap for name, gap in values.items() if name.startswith(_GAP)])


def _high(draws: Floats, level: float) -> float:
    return float(np.quantile(draws, (1 + level) / 2))
