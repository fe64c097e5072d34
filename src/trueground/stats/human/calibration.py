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
from itertools import pairwise
from typing import Any

import numpy as np

from trueground.stats.human.scratch import Scratch
from trueground.stats.human.types import Chance, Floats, Ints

NAME = "calibration_error"
_GAP = "gap "
_INNER = np.arange(1, 10) / 10
_SURE = 3.0
_NORMAL = 25.0  # a variance of hits from which on the normal law is as good
_DRAWS = 1_000
_ROWS = 128
_STREAM = 0x63616C  # draws of its own, whatever else has this seed


def bin_edges(counts: Ints) -> Ints:
    """Where bins begin and end among the places: ten of equal size, as in stats.logistic.

    `counts` (places,) are the items at each distinct score; these stay in one bin.
    """
    upto = np.concatenate(([0], np.cumsum(counts)))
    inner = np.searchsorted(upto, upto[-1] * _INNER, "left")
    return np.unique(np.concatenate(([0], inner, [len(counts)]))).astype(np.int64)


def gaps(
    here: Floats, positive: Floats, scores: Floats, edges: Ints, scratch: Scratch
) -> dict[str, Floats]:
    """What scores promise less what labels hold, of each bin, as a share of all: "gap 0" and on.

    `here` (resamples, places) is the weight of each place, `positive` (resamples, places + 1) that
    of the positives below it, `scores` (places,); each result has the shape (resamples,).
    """
    believed = np.multiply(here, scores, out=scratch.room("work", *here.shape))
    promised = np.add.reduceat(believed, edges[:-1], axis=1)
    total = here.sum(axis=1)
    # A resample without any of the items has no gap.
    shares = 1.0 / np.where(total > 0, total, np.inf)
    found = (promised - np.diff(positive[:, edges], axis=1)) * shares[:, None]
    return {f"{_GAP}{number}": found[:, number] for number in range(found.shape[1])}


def error_of(found: Mapping[str, Floats]) -> Floats:
    """The calibration error of each resample, from its gaps."""
    return np.asarray(np.abs(_stacked(found)).sum(axis=0), np.float64)


def chance_of(
    point: Mapping[str, Floats],
    drawn: Mapping[str, Floats],
    by_chance: Floats,
    level: float,
) -> Chance:
    """`point` and `drawn` are the gaps of the sample (1,) and of the resamples (resamples,).

    `by_chance` comes from `calibrated_draws`.
    """
    gap = _stacked(point)
    away = _stacked(drawn) - gap
    error = np.sqrt((away**2).sum(axis=1, keepdims=True) / max(away.shape[1], 1))
    sure = np.abs(gap) > _SURE * error
    signed = np.sign(gap) * away
    value = np.abs(gap).sum()
    return Chance(
        mean=float(by_chance.mean()),
        high=_high(by_chance, level),
        low=value - np.where(sure, signed, np.abs(away)).sum(axis=0),
        up=value - signed.sum(axis=0),
        calibrated=by_chance,
    )


def ends(
    value: float, low: Floats, up: Floats, calibrated: Floats, level: float
) -> tuple[float, float] | None:
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


def calibrated_draws(scores: Floats, counts: Ints, edges: Ints, draws: int, seed: int) -> Floats:
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


def without_gaps(found: Mapping[str, Any]) -> dict[str, Any]:
    """All but the gaps."""
    return {name: values for name, values in found.items() if not name.startswith(_GAP)}


def _stacked(found: Mapping[str, Floats]) -> Floats:
    return np.stack([values for name, values in found.items() if name.startswith(_GAP)])


def _high(draws: Floats, level: float) -> float:
    return float(np.quantile(draws, (1 + level) / 2))
