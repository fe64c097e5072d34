"""Numbers with intervals, as they come out: of one score, and their means over sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from trueground.errors import UsageError
from trueground.stats.bootstrap import Floats, Interval, percentiles
from trueground.stats.human.calibration import (
    CALIBRATION,
    CalibrationByChance,
    calibration_interval,
)

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
SAME = "the same in every resample: nothing varies here"


@dataclass(frozen=True)
class MeasureEstimate:
    """A number, its interval, and the number of items behind it.

    `value` is None where it is undefined, `ci` also where it has no interval; `why` then says why.
    """

    value: float | None
    ci: Interval | None
    n: int
    why: str | None = None

    @classmethod
    def from_interval(cls, value: float, n: int, ci: Interval | None) -> MeasureEstimate:
        """The value with its interval; None is one whose draws are all the same."""
        return cls(value, ci, n, None if ci else SAME)

    def raw(self) -> dict[str, Any]:
        """The JSON form: value, ci as a list of two, n, why."""
        ci = None if self.ci is None else list(self.ci)
        return {"value": self.value, "ci": ci, "n": self.n, "why": self.why}


@dataclass(frozen=True)
class LabelStats:
    """The scores of the items with one label; `sd` is that of a sample (n − 1)."""

    label: float
    n: int
    mean: MeasureEstimate
    median: MeasureEstimate
    sd: MeasureEstimate

    def raw(self) -> dict[str, Any]:
        """The JSON form, the estimates nested."""
        each = {name: getattr(self, name).raw() for name in ("mean", "median", "sd")}
        return {"label": self.label, "n": self.n, **each}


@dataclass(frozen=True)
class Measured:
    """All that is known of one score against one label.

    `estimates` has each of MEASURES, in their order. `by_label` is by 0/1 label, `by_grade` by the
    labels as they are (in ordinal mode, for at most 20 of them). `confusion` is None without a
    threshold, `confusion_best` and `best_threshold` where no threshold tells anything apart,
    `reliability` and `chance` (what chance makes of the calibration error) where the score is no
    probability. `reliability` has a row for each bin of neighbouring scores (low, high, mean_score,
    share_positive, n), `histogram` the `edges` of its bars and the `counts` of items between them
    by 0/1 label ("0", "1"). `draws` holds the measures in each resample, shape (resamples,), NaN
    where they are undefined; the best balanced accuracy and the calibration error have none.
    """

    n: int
    positives: int
    level: float
    threshold: float | None
    estimates: dict[str, MeasureEstimate]
    best_threshold: float | None
    by_label: list[LabelStats]
    by_grade: list[LabelStats]
    confusion: dict[str, int] | None
    confusion_best: dict[str, int] | None
    reliability: list[dict[str, float | int]] | None
    histogram: dict[str, Any]
    chance: CalibrationByChance | None = field(repr=False, compare=False)
    draws: dict[str, Floats] = field(repr=False, compare=False)

    def draws_of(self, name: str) -> tuple[Floats, ...]:
        """What the interval of a measure is made of; three kinds for the calibration error."""
        if name == CALIBRATION:
            c = self.chance
            return () if c is None else (c.low, c.up, c.calibrated)
        return (self.draws[name],) if name in self.draws else ()

    def raw(self) -> dict[str, Any]:
        """The JSON form: everything but the draws."""
        return {
            "n": self.n,
            "positives": self.positives,
            "threshold": self.threshold,
            "measures": raw_estimates(self.estimates),
            "best_threshold": self.best_threshold,
            "by_label": [one.raw() for one in self.by_label],
            "by_grade": [one.raw() for one in self.by_grade],
            "confusion": self.confusion,
            "confusion_best": self.confusion_best,
            "calibration_by_chance": self.chance and self.chance.raw(),
            "reliability": self.reliability,
            "histogram": self.histogram,
        }


@dataclass(frozen=True)
class MeanOfSets:
    """The unweighted mean of a measure over the `sets` that have it."""

    value: float | None
    ci: Interval | None
    sets: int
    why: str | None = None

    def raw(self) -> dict[str, Any]:
        """The JSON form: value, ci as a list of two, sets, why."""
        ci = None if self.ci is None else list(self.ci)
        return {"value": self.value, "ci": ci, "sets": self.sets, "why": self.why}


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
        """Count one in; every one has equally many kinds of draws, each (resamples,)."""
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
        self._sums = [one + more for one, more in zip(sums, moved, strict=True)]

    def mean(self, level: float) -> MeanOfSets:
        """The mean with its interval; three kinds of draws are those of a calibration error."""
        sets = len(self._values)
        if not sets:
            return MeanOfSets(None, None, 0, self._why or "there is nothing to average")
        value = float(np.mean(self._values))
        if self._without or self._sums is None:
            whys = set(self._without)
            if len(self._without) == sets and len(whys) == 1:
                return MeanOfSets(value, None, sets, str(whys.pop()))
            why = f"{len(self._without)} of {sets} that have the measure have no interval"
            return MeanOfSets(value, None, sets, why)
        draws = [one / sets for one in self._sums]
        if len(draws) == 1:
            ci = varying_interval(draws[0], level)
        else:
            ci = calibration_interval(value, draws[0], draws[1], draws[2], level)
        return MeanOfSets(value, ci, sets, None if ci else SAME)


class OverSets:
    """The means of all MEASURES over sets of one score, one set after the other."""

    def __init__(self) -> None:
        self._means = {name: RunningMean() for name in MEASURES}
        self._resamples: int | None = None

    def add(self, one: Measured) -> None:
        """Count a set in. Raises UsageError for another number of resamples."""
        number = max((len(draws) for draws in one.draws.values()), default=0)
        if self._resamples not in (None, number):
            raise UsageError(
                "the sets have different numbers of resamples; measure all with the same"
            )
        self._resamples = number
        for name, mean in self._means.items():
            mean.add(one.estimates[name], *one.draws_of(name))

    def means(self, level: float) -> dict[str, MeanOfSets]:
        """The mean of each measure over the sets that have it."""
        return {name: mean.mean(level) for name, mean in self._means.items()}


class HasEstimates(Protocol):
    """What an average over annotators needs of each."""

    @property
    def n(self) -> int: ...
    @property
    def estimates(self) -> dict[str, MeasureEstimate]: ...
    def draws_of(self, name: str) -> tuple[Floats, ...]: ...


def mean_of_sets(sets: Iterable[Measured], level: float = 0.95) -> dict[str, MeanOfSets]:
    """The mean of each of MEASURES over the sets that have it, with an interval.

    Sets are drawn independently of each other, though groups may stand in several of them. The sets
    themselves stay as they are: the interval is of the mean over these sets, not over sets that
    might have been. Scores that are measured in the same order of sets share their resamples.
    Raises UsageError for other numbers of resamples.
    """
    every = OverSets()
    for one in sets:
        every.add(one)
    return every.means(level)


def mean_of_annotators(
    each: Sequence[HasEstimates], names: Sequence[str], level: float, nobody: str
) -> dict[str, MeasureEstimate]:
    """The mean of each measure over annotators of one set, who share their resamples.

    `nobody` says why there is none where no annotator has an item.
    """
    means = {}
    for name in names:
        running = RunningMean(shift=0)
        for one in each:
            running.add(one.estimates[name], *one.draws_of(name))
        mean = running.mean(level)
        n = sum(one.estimates[name].n for one in each if one.estimates[name].value is not None)
        why = mean.why if any(one.n for one in each) else nobody
        means[name] = MeasureEstimate(mean.value, mean.ci, n, why)
    return means


def varying_interval(draws: Floats, level: float) -> Interval | None:
    """The percentile interval; None where all draws are the same, which tells of too few items."""
    some = draws[~np.isnan(draws)]
    if not len(some) or np.ptp(some) <= 1e-12:
        return None
    return percentiles(draws, level)


def raw_estimates(estimates: Mapping[str, MeasureEstimate]) -> dict[str, dict[str, Any]]:
    """The JSON form of each."""
    return {name: one.raw() for name, one in estimates.items()}
