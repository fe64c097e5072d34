"""The mean of measures over sets, from running sums: no set's draws are kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trueground.errors import UsageError
from trueground.stats.human.calibration import NAME as CALIBRATION
from trueground.stats.human.calibration import ends
from trueground.stats.human.intervals import varied
from trueground.stats.human.reasons import SAME
from trueground.stats.human.types import MEASURES, Estimate, Floats, Measured


@dataclass(frozen=True)
class MeanOfSets:
    """The unweighted mean of a measure over the `sets` that have it."""

    value: float | None
    ci: tuple[float, float] | None
    sets: int
    why: str | None = None

    def raw(self) -> dict[str, Any]:
        """The JSON form: value, ci as a list of two, sets, why."""
        ci = None if self.ci is None else list(self.ci)
        return {"value": self.value, "ci": ci, "sets": self.sets, "why": self.why}


@dataclass
class RunningMean:
    """Estimates and their draws, summed up as they come.

    Sets are drawn independently of each other: with `shift` the draws of each are moved on by one
    more place, so that sets of equal size and seed share no resample.
    """

    shift: int = 1
    _seen: int = 0
    _values: list[float] = field(default_factory=list)
    _sums: list[Floats] | None = None
    _without: list[str | None] = field(default_factory=list)
    _why: str | None = None

    def add(self, estimate: Estimate, *draws: Floats) -> None:
        """Count one in; every one has equally many kinds of draws, each (resamples,)."""
        place, self._seen = self._seen * self.shift, self._seen + 1
        if estimate.value is None:
            self._why = self._why or estimate.why
            return
        self._values.append(estimate.value)
        if estimate.ci is None:
            self._without.append(estimate.why)
            return
        moved = [np.roll(one, place) for one in draws]
        self._sums = (
            moved
            if self._sums is None
            else [one + more for one, more in zip(self._sums, moved, strict=True)]
        )

    def mean(self, level: float) -> MeanOfSets:
        """The mean with its interval; three kinds of draws are those of a calibration error."""
        sets = len(self._values)
        if not sets:
            return MeanOfSets(None, None, 0, self._why or "there is nothing to average")
        value = float(np.mean(self._values))
        if self._without or self._sums is None:
            return MeanOfSets(value, None, sets, self._why_none(sets))
        drawn = [one / sets for one in self._sums]
        if len(drawn) == 1:
            ci = varied(drawn[0], level)
        else:
            low, up, calibrated = drawn
            ci = ends(value, low, up, calibrated, level)
        return MeanOfSets(value, ci, sets, None if ci else SAME)

    def _why_none(self, sets: int) -> str:
        whys = set(self._without)
        if len(self._without) == sets and len(whys) == 1:
            return str(whys.pop())
        return f"{len(self._without)} of {sets} that have the measure have no interval"


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
            mean.add(one.estimates[name], *draws_of(one, name))

    def means(self, level: float) -> dict[str, MeanOfSets]:
        """The mean of each measure over the sets that have it."""
        return {name: mean.mean(level) for name, mean in self._means.items()}


def mean_of_sets(sets: Iterable[Measured], level: float = 0.95) -> dict[str, MeanOfSets]:
    """The mean of each of MEASURES over the sets that have it, with an interval.

    Sets are drawn independently of each other, though groups may stand in several of them. The sets
    themselves stay as they are: the interval is of the mean over these sets, not over sets that
    might have been. Scores that are given in the same order of sets keep their resamples in common.
    Raises UsageError for other numbers of resamples.
    """
    every = OverSets()
    for one in sets:
        every.add(one)
    return every.means(level)


def mean_of_columns(
    found: Sequence[Measured], names: Sequence[str], level: float
) -> dict[str, Estimate]:
    """The mean of each measure over columns of one set, which share their resamples."""
    means = {}
    for name in names:
        running = RunningMean(shift=0)
        for one in found:
            running.add(one.estimates[name], *draws_of(one, name))
        mean = running.mean(level)
        n = sum(m.estimates[name].n for m in found if m.estimates[name].value is not None)
        means[name] = Estimate(mean.value, mean.ci, n, mean.why)
    return means


def draws_of(one: Measured, name: str) -> tuple[Floats, ...]:
    """What the interval of a measure is made of."""
    if name == CALIBRATION:
        return () if one.chance is None else (one.chance.low, one.chance.up, one.chance.calibrated)
    return (one.draws[name],) if name in one.draws else ()
