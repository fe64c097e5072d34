"""One set: the entries of all its metrics, and the rows of the worst items."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueground.stats.human import Measured
from trueground.studies.validate.numbers import Manner, turn
from trueground.studies.validate.scored import ScoredSet
from trueground.studies.validate.totals import Totals
from trueground.studies.validate.worst import worst_rows

Rows = dict[str, NDArray[np.int64]]


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
        key: worst_rows(scores[key], positive, *_limit(measured, manner), manner.worst)
        for key, measured in found.items()
    }
    totals.add(one.set, scores, found)
    return {key: _entry(one, key, measured) for key, measured in found.items()}, rows


def _limit(measured: Measured, manner: Manner) -> tuple[float | None, bool]:
    """The default threshold, and whether a score at it is a yes; the best one of a metric that has
    no default, or of grades of which none, or all, are positive: then there is none.
    """
    if measured.confusion is None or measured.threshold is None:
        return measured.best_threshold, False
    return measured.threshold, manner.verdict == "at-least"


def _entry(one: ScoredSet, key: str, measured: Measured) -> dict[str, Any]:
    raw = measured.raw()
    by_grade = raw.pop("by_grade")
    entry = {
        "n": raw.pop("n"),
        "coverage": measured.n / one.set.n,
        "unscored": one.unscored(key),
        "mean": float(np.nanmean(one.scores[key])),
        **raw,
    }
    if by_grade:
        entry["by_grade"] = by_grade
    return entry
