"""What the sets of a validation come to together: means, pooled numbers, differences of metrics."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueground.stats.human import (
    PAIRED,
    Measured,
    OverSets,
    RunningMean,
    measure_all,
    paired_differences,
)
from trueground.studies.labelled.sets import LabelledSet
from trueground.studies.validate.numbers import Manner, is_share

Floats = NDArray[np.float64]
CALIBRATION = "calibration_error"
Apart = dict[str, dict[str, dict[str, Any]]]  # measure → metric → difference


@dataclass(frozen=True)
class _Kept:
    """What is needed of a set until all are there: numbers, no draws and no lines."""

    number: int
    scores: dict[str, Floats]
    labels: Floats
    clusters: NDArray[np.int64]
    grouped: bool


@dataclass
class Totals:
    """Sums that run along while the sets come in."""

    manner: Manner
    _means: dict[str, OverSets] = field(default_factory=dict)
    _sets: list[_Kept] = field(default_factory=list)
    _first: dict[str, Measured] = field(default_factory=dict)

    def add(
        self, one: LabelledSet, scores: dict[str, Floats], measured: dict[str, Measured]
    ) -> None:
        """Count a set in, with its scores turned so that more is better."""
        for key, found in measured.items():
            self._means.setdefault(key, OverSets()).add(found)
        if not self._sets:
            self._first = measured
        self._sets.append(_Kept(one.number, scores, one.labels, one.clusters, one.grouped))

    def mean(self) -> dict[str, Any]:
        """The unweighted mean of each measure over the sets that have it."""
        level = self.manner.level
        return {
            key: {name: mean.raw() for name, mean in means.means(level).items()}
            for key, means in self._means.items()
        }

    def pooled(self) -> dict[str, Any]:
        """The calibration error over the records of all sets in which a metric is a share."""
        if len(self._sets) == 1:
            shares = {key for key, scores in self._sets[0].scores.items() if is_share(scores)}
            found = {key: one for key, one in self._first.items() if key in shares}
        else:
            found = self._together()
        return {
            key: {
                CALIBRATION: one.estimates[CALIBRATION].raw(),
                "by_chance": one.chance and one.chance.raw(),
            }
            for key, one in found.items()
        }

    def differences(self, mean: dict[str, Any]) -> tuple[dict[int, Apart], Apart]:
        """Each metric less the one with the highest mean, by number of set and over all sets.

        Only those with the most sets can be the highest: a mean over fewer is another number.
        """
        best = {name: key for name in PAIRED if (key := _best(mean, name)) is not None}
        each: dict[int, Apart] = {}
        means: dict[tuple[str, str], RunningMean] = {}
        m = self.manner
        for one in self._sets:
            here = {name: key for name, key in best.items() if key in one.scores}
            found = paired_differences(
                one.scores,
                one.labels,
                here,
                positive_above=m.positive_above,
                ordinal=m.rule.ordinal,
                clusters=one.clusters if one.grouped else None,
                resamples=m.resamples,
                seed=m.seed,
                level=m.level,
                workers=m.workers,
            )
            each[one.number] = {
                name: {
                    key: {"against": best[name], **estimate.raw()}
                    for key, (estimate, _) in apart.items()
                }
                for name, apart in found.items()
            }
            for name, apart in found.items():
                for key, (estimate, draws) in apart.items():
                    means.setdefault((name, key), RunningMean()).add(estimate, draws)
        over: Apart = {name: {} for name in best}
        for (name, key), running in means.items():
            over[name][key] = {"against": best[name], **running.mean(m.level).raw()}
        return each, over

    def _together(self) -> dict[str, Measured]:
        """The calibration of all records of all sets as one."""
        sets, m = self._sets, self.manner
        columns: dict[str, list[Floats]] = {}
        for number, one in enumerate(sets):
            for key, scores in one.scores.items():
                if is_share(scores):
                    empty = [np.full(len(other.labels), np.nan) for other in sets]
                    columns.setdefault(key, empty)[number] = scores
        clusters = np.concatenate([one.clusters for one in sets])
        return measure_all(
            {key: np.concatenate(parts) for key, parts in columns.items()},
            np.concatenate([one.labels for one in sets]),
            positive_above=m.positive_above,
            clusters=clusters if any(one.grouped for one in sets) else None,
            threshold=None,
            resamples=m.resamples,
            seed=m.seed,
            level=m.level,
            workers=m.workers,
        )


def _best(mean: dict[str, Any], name: str) -> str | None:
    """The metric with the highest mean over the most sets; None where none has the measure."""
    have = {key: of[name] for key, of in mean.items() if of[name]["value"] is not None}
    if not have:
        return None
    return max(have, key=lambda key: (have[key]["sets"], have[key]["value"]))
