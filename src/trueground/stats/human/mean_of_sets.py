"""Two scores of one set against each other, and the mean over sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueground.errors import UsageError
from trueground.stats.bootstrap import percentiles
from trueground.stats.human.types import MEASURES, Estimate, Measured


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


def paired_difference(a: Measured, b: Measured, name: str = "auroc") -> Estimate:
    """The measure of `a` less that of `b`, with a paired interval.

    Both must come from the same items, clusters, seed and number of resamples (one `measure_all`,
    or calls with the same arguments), so that resample i is the same in both. UsageError for an
    unknown measure or another number of resamples.
    """
    _see(name)
    first, second = a.draws[name], b.draws[name]
    left, right = a.estimates[name], b.estimates[name]
    n = min(left.n, right.n)
    if left.value is None or right.value is None:
        return Estimate(None, None, n, left.why if left.value is None else right.why)
    if first.shape != second.shape:
        raise UsageError(
            f"{len(first)} and {len(second)} resamples are no pairs; measure both with the same "
            "number of resamples and seed"
        )
    value = left.value - right.value
    if left.ci is None or right.ci is None:
        return Estimate(value, None, n, left.why or right.why)
    return Estimate(value, percentiles(first - second, a.level), n)


def mean_of_sets(sets: Sequence[Measured], level: float = 0.95) -> dict[str, MeanOfSets]:
    """The mean of each of MEASURES over the sets that have it, with an interval.

    Sets are drawn independently of each other: the draws of each are moved on by one more place,
    so that sets of equal size and seed share no resample. The sets themselves stay as they are:
    the interval is of the mean over these sets, not over sets that might have been. Scores that
    are given in the same order of sets keep their resamples in common. Raises UsageError for other
    numbers of resamples.
    """
    if len({len(one.draws[MEASURES[0]]) for one in sets}) > 1:
        raise UsageError("the sets have different numbers of resamples; measure all with the same")
    return {name: _mean(sets, name, level) for name in MEASURES}


def mean_of_draws(
    found: Sequence[Measured], names: Sequence[str], level: float
) -> dict[str, Estimate]:
    """The mean of each measure over columns of one set, which share their resamples."""
    means = {name: _mean(found, name, level, shift=0) for name in names}
    return {
        name: Estimate(
            one.value,
            one.ci,
            sum(m.estimates[name].n for m in found if m.estimates[name].value is not None),
            one.why,
        )
        for name, one in means.items()
    }


def _mean(sets: Sequence[Measured], name: str, level: float, shift: int = 1) -> MeanOfSets:
    having = [
        (one.estimates[name], np.roll(one.draws[name], number * shift))
        for number, one in enumerate(sets)
        if one.estimates[name].value is not None
    ]
    if not having:
        why = next((one.estimates[name].why for one in sets), None) or "there is nothing to average"
        return MeanOfSets(None, None, 0, why)
    values = [estimate.value for estimate, _ in having if estimate.value is not None]
    value = float(np.mean(values))
    without = sum(estimate.ci is None for estimate, _ in having)
    if without:
        why = f"{without} of {len(having)} that have the measure have no interval"
        return MeanOfSets(value, None, len(having), why)
    drawn = np.mean([draws for _, draws in having], axis=0)
    return MeanOfSets(value, percentiles(drawn, level), len(having))


def _see(name: str) -> None:
    if name not in MEASURES:
        raise UsageError(f"no measure {name!r}; expected one of {', '.join(MEASURES)}")
