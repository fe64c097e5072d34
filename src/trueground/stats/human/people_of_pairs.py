"""Preferences of several people: one of them against the rest; and the mean over sets of pairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trueground.errors import InputError
from trueground.stats.human.mean_of_sets import MeanOfSets, RunningMean
from trueground.stats.human.measuring import Clusters
from trueground.stats.human.pairs import PREFERENCES, Preferences, preferences
from trueground.stats.human.types import Estimate, Floats

_NOBODY = "no pair has a preference of one annotator and one of the others"


@dataclass(frozen=True)
class PreferenceCeiling:
    """Each annotator (a column of preferences) against the mean of the rest, and their mean.

    The annotator stands for the metric: a tie of theirs counts half in "sign_agreement", pairs
    that the rest find even together are left out. The mean is over the annotators that have the
    measure; its n counts their pairs together.
    """

    annotators: list[Preferences]
    mean: dict[str, Estimate]

    def raw(self) -> dict[str, Any]:
        """The JSON form, the estimates nested."""
        mean = {name: one.raw() for name, one in self.mean.items()}
        return {"annotators": [one.raw() for one in self.annotators], "mean": mean}


def preference_ceiling(
    table: ArrayLike,
    *,
    clusters: Clusters | None = None,
    resamples: int = 2_000,
    seed: int = 0,
    level: float = 0.95,
    workers: int | None = None,
) -> PreferenceCeiling:
    """What a metric could reach: one annotator of `table` (n, annotators) against the others.

    Preferences are above 0 where A is better, 0 for a tie, NaN where an annotator gave none. The
    others count by their mean. Raises InputError for another shape and infinite preferences.
    """
    given = np.asarray(table, np.float64)
    if given.ndim != 2 or np.isinf(given).any():
        raise InputError(
            f"preferences of shape {given.shape}; expected (pairs, annotators), finite or NaN"
        )
    found = [
        preferences(
            given[:, k],
            _mean_of_rest(given, k),
            clusters,
            resamples=resamples,
            seed=seed,
            level=level,
            workers=workers,
        )
        for k in range(given.shape[1])
    ]
    return PreferenceCeiling(found, {name: _mean(found, name, level) for name in PREFERENCES})


def mean_of_preferences(sets: Iterable[Preferences], level: float = 0.95) -> dict[str, MeanOfSets]:
    """The unweighted mean of each of PREFERENCES over the sets that have it, with an interval.

    Sets are drawn independently of each other, as in `mean_of_sets`.
    """
    means = {name: RunningMean() for name in PREFERENCES}
    for one in sets:
        for name, mean in means.items():
            mean.add(one.estimates[name], *_draws(one, name))
    return {name: mean.mean(level) for name, mean in means.items()}


def _mean_of_rest(table: Floats, annotator: int) -> Floats:
    """What the others prefer on average, NaN where nobody else gave a preference."""
    others = np.delete(table, annotator, axis=1)
    given = ~np.isnan(others)
    count = given.sum(axis=1)
    total = np.where(given, others, 0.0).sum(axis=1)
    mean: Floats = np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0)
    return mean


def _mean(found: Sequence[Preferences], name: str, level: float) -> Estimate:
    running = RunningMean(shift=0)  # annotators of one set share their resamples
    for one in found:
        running.add(one.estimates[name], *_draws(one, name))
    mean = running.mean(level)
    n = sum(one.estimates[name].n for one in found if one.estimates[name].value is not None)
    nobody = not any(one.n for one in found)
    return Estimate(mean.value, mean.ci, n, _NOBODY if nobody else mean.why)


def _draws(one: Preferences, name: str) -> tuple[Floats, ...]:
    draws = one.draws.get(name)
    return () if draws is None else (draws,)
