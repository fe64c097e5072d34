"""Numbers with intervals, as they come out: of one score, and their means over sets.

The calibration error is a sum of distances, |mean score − share of positives| bin by bin, so that
chance can only add to it: also calibrated scores have one above 0. Three things are drawn of each
bin's gap g:

- what calibrated scores would have: labels are drawn from the scores themselves;
- how far g may lie from the truth: the resamples' gap less g (bins stay as they are);
- where |g| is more than three standard errors, its sign is sure, and chance may push it either way;
  elsewhere chance is taken to have only added. So the lower end is never too high, and may be 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from trueground.errors import UsageError
from trueground.stats.arithmetic.distributions import draw_binomial, draw_normal, normal_quantile
from trueground.stats.arithmetic.sums import dot_rows, mean, total
from trueground.stats.bootstrap import (
    Floats,
    Interval,
    Ints,
    varying_interval,
)
from trueground.stats.human.column import LabeledScores
from trueground.stats.human.weighing import GAP

# metrics.md, "Human agreement and correlation"
MEASURES = (
    "auroc",
    "spearman",
    "kendall",
    "point_biserial",
    "balanced_accuracy",
    "balanced_accuracy_best",
    "matthews",
    "cohen_kappa",
    "fleiss_kappa",
    "krippendorff_alpha",
    "raw_agreement",
    "calibration_error",
    "false_negative_rate",
    "false_positive_rate",
)
CALIBRATION = "calibration_error"
SAME = "the same in every resample: nothing varies here"
_SURE = 3.0
_NORMAL = 25.0  # a variance of hits from which on the normal law is as good
_DRAWS = 1_000
_ROWS = 128
_STREAM = 0x63616C  # draws of its own, whatever else has this seed


@dataclass(frozen=True)
class MeasureEstimate:
    """A number, its interval, and the number of items behind it; of a mean over sets that of sets.

    `why` says why it is undefined, or has no interval.
    """

    value: float | None
    ci: Interval | None
    n: int
    why: str | None = None

    @classmethod
    def from_interval(cls, value: float, n: int, ci: Interval | None) -> MeasureEstimate:
        """The value with its interval; None is one whose draws are all the same."""
        return cls(value, ci, n, None if ci else SAME)

    def items_to_show(self, n: int, *, level: float, power: float) -> float | None:
        """Return how many items show a difference above 0, if `n` gave this interval.

        Args:
            n: The items behind the interval.
            level: Its confidence level.
            power: How likely the interval of that many items is above 0.

        Returns:
            The number, not rounded. None without an interval or a difference above 0.
        """
        if self.value is None or self.ci is None or self.value <= 0:
            return None
        z = normal_quantile(0.5 + level / 2)
        ratio = (1 + normal_quantile(power) / z) * (self.ci[1] - self.ci[0]) / 2 / self.value
        return n * ratio * ratio

    def raw(self, count: str = "n") -> dict[str, Any]:
        """The JSON form: value, ci as a list of two, n under the name `count`, why."""
        ci = None if self.ci is None else list(self.ci)
        return {"value": self.value, "ci": ci, count: self.n, "why": self.why}


@dataclass(frozen=True)
class Estimated:
    """`estimates` by measure, of `n` items; `draws` are the same in each resample, (resamples,).

    NaN where a resample leaves a measure undefined; some measures have no draws.
    """

    n: int
    estimates: dict[str, MeasureEstimate]
    draws: dict[str, Floats] = field(repr=False, compare=False)

    def raw_measures(self) -> dict[str, dict[str, Any]]:
        """Return the JSON form of the estimates."""
        return raw_estimates(self.estimates)

    def draws_of(self, name: str) -> tuple[Floats, ...]:
        """What the interval of a measure is made of; three kinds for the calibration error."""
        return (self.draws[name],) if name in self.draws else ()


@dataclass
class RunningMean:
    """Estimates and their draws, summed up as they come: no set's draws are retained.

    Sets are drawn independently of each other: with `shift` the draws of each are moved on by one
    more place, so that sets of equal size and seed share no resample.
    """

    shift: int = 1
    _added: int = 0
    _values: list[float] = field(default_factory=list)
    _sums: list[Floats] | None = None
    _without: list[str | None] = field(default_factory=list)
    _why: str | None = None

    def add(self, estimate: MeasureEstimate, *draws: Floats) -> None:
        """Count one in; every one has equally many kinds of draws, each (resamples,).

        Raises UsageError for another number of resamples.
        """
        place, self._added = self._added * self.shift, self._added + 1
        if estimate.value is None:
            self._why = self._why or estimate.why
            return
        self._values.append(estimate.value)
        if estimate.ci is None:
            self._without.append(estimate.why)
            return
        moved = [np.roll(one, place) for one in draws]
        sums = self._sums or [np.zeros_like(one) for one in moved]
        if len(sums[0]) != len(moved[0]):
            raise UsageError(
                "the sets have different numbers of resamples; measure all with the same"
            )
        self._sums = [one + more for one, more in zip(sums, moved, strict=True)]

    def estimate(self, level: float) -> MeasureEstimate:
        """The mean with its interval; three kinds of draws are those of a calibration error."""
        sets = len(self._values)
        if not sets:
            return MeasureEstimate(None, None, 0, self._why or "there is nothing to average")
        value = mean(self._values)
        if self._without or self._sums is None:
            whys = set(self._without)
            why = f"{len(self._without)} of {sets} that have the measure have no interval"
            if len(self._without) == sets and len(whys) == 1:
                why = str(whys.pop())
            return MeasureEstimate(value, None, sets, why)
        draws = [one / sets for one in self._sums]
        if len(draws) == 1:
            ci = varying_interval(draws[0], level)
        else:
            ci = calibration_interval(value, draws[0], draws[1], draws[2], level)
        return MeasureEstimate.from_interval(value, sets, ci)


class OverSets:
    """The unweighted means of some measures of one score over sets, one set after the other.

    Groups may stand in several sets. The sets themselves stay as they are: the interval is of the
    mean over these sets, not over sets that might have been. Scores that are measured in the same
    order of sets share their resamples.
    """

    def __init__(self, names: Sequence[str] = MEASURES, shift: int = 1) -> None:
        self._means = {name: RunningMean(shift) for name in names}

    def add(self, one: Estimated) -> None:
        """Count a set in. Raises UsageError for another number of resamples."""
        for name, running in self._means.items():
            running.add(one.estimates[name], *one.draws_of(name))

    def means(self, level: float) -> dict[str, MeasureEstimate]:
        """The mean of each measure over the sets that have it."""
        return {name: running.estimate(level) for name, running in self._means.items()}

    def raw_means(self, level: float) -> dict[str, dict[str, Any]]:
        """Return the JSON form of the means, with the number of sets."""
        return raw_estimates(self.means(level), "sets")


def mean_of_sets(sets: Iterable[Estimated], level: float = 0.95) -> dict[str, MeasureEstimate]:
    """The means of all MEASURES at once, see `OverSets`."""
    every = OverSets()
    for one in sets:
        every.add(one)
    return every.means(level)


def raw_estimates(
    estimates: Mapping[str, MeasureEstimate], count: str = "n"
) -> dict[str, dict[str, Any]]:
    """The JSON form of each."""
    return {name: one.raw(count) for name, one in estimates.items()}


class CalibrationByChance(NamedTuple):
    """What chance makes of a calibration error, at the level of the intervals.

    Perfectly calibrated scores would have `mean` on average on as many such items, and stay below
    `high`. An interval is made of `low`, `up` and `calibrated`: see `calibration_interval`.
    """

    mean: float
    high: float
    low: Floats
    up: Floats
    calibrated: Floats


def calibration_by_chance(
    column: LabeledScores,
    point: Mapping[str, Floats],
    draws: Mapping[str, Floats],
    level: float,
    seed: int,
) -> tuple[float, CalibrationByChance] | None:
    """The calibration error, and what chance makes of it; None where scores are no probability.

    `point` and `draws` hold the gaps of the sample (1,) and of the resamples (resamples,).
    """
    if column.bins is None:
        return None
    gap, drawn = (
        np.stack([own for name, own in values.items() if name.startswith(GAP)])
        for values in (point, draws)
    )
    away = drawn - gap
    by_chance = _calibrated_draws(column, column.bins, away.shape[1], seed)
    error = np.sqrt(dot_rows(away, away)[:, None] / max(away.shape[1], 1))
    signed = np.sign(gap) * away
    either = np.where(np.abs(gap) > _SURE * error, signed, np.abs(away))
    value = total(np.abs(gap[:, 0]))
    low, up = value - total(either, axis=0), value - total(signed, axis=0)
    chance = CalibrationByChance(mean(by_chance), _high(by_chance, level), low, up, by_chance)
    return value, chance


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


def _calibrated_draws(column: LabeledScores, bins: Ints, draws: int, seed: int) -> Floats:
    """Calibration errors of labels that are drawn from the scores, one by one; (draws or more,)."""
    random = np.random.Generator(np.random.SFC64([seed, _STREAM]))
    rows = max(draws, _DRAWS)
    gaps = np.zeros(rows)
    scores, counts = column.distinct, np.diff(column.upto[0] + column.upto[1])
    for low, high in pairwise(bins.tolist()):
        open_ = (scores[low:high] > 0) & (scores[low:high] < 1)
        p, n = scores[low:high][open_], counts[low:high][open_]
        variance = total(n * p * (1 - p))
        if variance >= _NORMAL:
            gaps += np.abs(draw_normal(random, rows) * np.sqrt(variance))
            continue
        for first in range(0, rows, _ROWS):
            part = gaps[first : first + _ROWS]
            hits = draw_binomial(random, n, p, len(part))
            part += np.abs(total(hits - n * p, axis=1))
    return np.asarray(gaps / column.n, np.float64)


def _high(draws: Floats, level: float) -> float:
    return float(np.quantile(draws, (1 + level) / 2))
