"""Scores and labels → the measures of agreement, set by set, over all sets, and pooled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueground.stats.human import Measured, mean_of_sets, measure_all
from trueground.studies.labelled.rule import LabelRule
from trueground.studies.validate.scored import ScoredSet, higher_is_better
from trueground.studies.validate.worst import worst_rows

Floats = NDArray[np.float64]
Rows = dict[str, NDArray[np.int64]]
CALIBRATION = "calibration_error"


@dataclass(frozen=True)
class Manner:
    """How everything is measured."""

    rule: LabelRule
    threshold: float = 0.5
    resamples: int = 2_000
    seed: int = 0
    level: float = 0.95
    worst: int = 10

    @property
    def positive_above(self) -> float:
        """The limit for labels as the statistics get them: these are 1 or 0, or ordinal."""
        return self.rule.positive_above if self.rule.ordinal else 0.5

    def measured(
        self, scores: Mapping[str, Floats], labels: Floats, clusters: Any
    ) -> dict[str, Measured]:
        """Every measure of these scores, each (n,), turned so that more is better."""
        shares = {key: is_share(values) for key, values in scores.items()}
        return measure_all(
            scores,
            labels,
            positive_above=self.positive_above,
            ordinal=self.rule.ordinal,
            clusters=clusters,
            threshold={key: self.threshold if share else None for key, share in shares.items()},
            probability=shares,
            resamples=self.resamples,
            seed=self.seed,
            level=self.level,
        )


@dataclass
class Totals:
    """What the sets come to together."""

    manner: Manner
    _measured: dict[str, list[Measured]] = field(default_factory=dict)
    _columns: list[tuple[dict[str, Floats], ScoredSet]] = field(default_factory=list)

    def add(self, one: ScoredSet, scores: dict[str, Floats], measured: dict[str, Measured]) -> None:
        """Count a set in, with its scores turned so that more is better."""
        for key, found in measured.items():
            self._measured.setdefault(key, []).append(found)
        shares = {key: values for key, values in scores.items() if is_share(values)}
        self._columns.append((shares, one))

    def mean(self) -> dict[str, Any]:
        """The unweighted mean of each measure over the sets that have it."""
        level = self.manner.level
        return {
            key: {name: mean.raw() for name, mean in mean_of_sets(found, level).items()}
            for key, found in self._measured.items()
        }

    def pooled(self) -> dict[str, Any]:
        """The calibration error over the records of all sets in which a metric is a share."""
        if len(self._columns) == 1:
            found = {key: self._measured[key][0] for key in self._columns[0][0]}
        else:
            found = self._together()
        return {key: {CALIBRATION: one.estimates[CALIBRATION].raw()} for key, one in found.items()}

    def _together(self) -> dict[str, Measured]:
        """All records of all sets as one."""
        keys = dict.fromkeys(key for shares, _ in self._columns for key in shares)
        columns = {
            key: np.concatenate(
                [s.get(key, np.full(one.set.n, np.nan)) for s, one in self._columns]
            )
            for key in keys
        }
        sets = [one.set for _, one in self._columns]
        clusters = np.concatenate([one.clusters for one in sets])
        grouped = any(one.grouped for one in sets)
        labels = np.concatenate([one.labels for one in sets])
        return self.manner.measured(columns, labels, clusters if grouped else None)


def measure_set(
    one: ScoredSet, manner: Manner, totals: Totals
) -> tuple[dict[str, dict[str, Any]], Rows]:
    """The entries of all metrics that have a score in this set, and the rows of the worst items."""
    scores = {
        key: turn(key, values) for key, values in one.scores.items() if not np.isnan(values).all()
    }
    clusters = one.set.clusters if one.set.grouped else None
    found = manner.measured(scores, one.set.labels, clusters)
    positive = one.set.labels > manner.positive_above
    rows = {
        key: worst_rows(scores[key], positive, _limit(measured), manner.worst)
        for key, measured in found.items()
    }
    totals.add(one, scores, found)
    return {key: _entry(one, key, measured) for key, measured in found.items()}, rows


def turn(key: str, scores: Floats) -> Floats:
    """The scores so that more is better: 1 − x of shares, −x of others, where less is better."""
    if higher_is_better(key):
        return scores
    return 1.0 - scores if is_share(scores) else -scores


def is_share(scores: Floats) -> bool:
    """Whether all scores lie between 0 and 1, so that a threshold and a probability mean a thing.

    `scores` has at least one that is not NaN.
    """
    return bool(np.nanmin(scores) >= 0.0 and np.nanmax(scores) <= 1.0)


def _limit(measured: Measured) -> float | None:
    """The default threshold; the best one of a metric that has no default."""
    return measured.best_threshold if measured.threshold is None else measured.threshold


def _entry(one: ScoredSet, key: str, measured: Measured) -> dict[str, Any]:
    raw = measured.raw()
    by_grade = raw.pop("by_grade")
    entry = {
        "n": raw.pop("n"),
        "coverage": measured.n / one.set.n,
        "unscored": one.unscored(key),
        **raw,
    }
    if by_grade:
        entry["by_grade"] = by_grade
    return entry
