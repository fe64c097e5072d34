"""A metric beside people's labels: how it lies by label, and where the two disagree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueground.errors import UsageError
from trueground.stats.bootstrap import intervals
from trueground.studies.errors.records import People
from trueground.studies.finished import NO_HASH


@dataclass(frozen=True)
class Drawn:
    """How the intervals are drawn. UsageError for what cannot be meant."""

    resamples: int = 2_000
    seed: int = 0
    level: float = 0.95

    def __post_init__(self) -> None:
        if self.resamples < 1 or self.seed < 0 or not 0 < self.level < 1:
            raise UsageError(
                f"resamples={self.resamples}, seed={self.seed}, level={self.level}; expected 1 or "
                "more, 0 or more, and a number between 0 and 1"
            )


def by_label(people: People, at_most: float, drawn: Drawn) -> dict[str, Any] | None:
    """Mean with its interval, median and deviation of the metric by label; None without labels.

    Where items name groups, whole groups are resampled. `median` and `sd` (n - 1; null of a single
    item) are plain: `trueground validate` gives them intervals. `table` counts the items by label
    and by whether the metric is at most `at_most`.
    """
    if not people.scores:
        return None
    scores = np.array(people.scores)
    positive = np.array(people.positive)
    groups = np.array(people.groups)
    lone = groups == NO_HASH
    # An item without a group is one of its own: it gets a number that no other has.
    _, codes = np.unique(groups, return_inverse=True)
    clusters = None if lone.all() else np.where(lone, len(groups) + np.arange(len(groups)), codes)
    rows = []
    for label, chosen in ((1, positive), (0, ~positive)):
        values = scores[chosen]
        if not len(values):
            continue
        mine = None if clusters is None else clusters[chosen]
        (ci,) = intervals(values[:, None], mine, **vars(drawn))
        rows.append(
            {
                "label": label,
                "n": len(values),
                "mean": float(values.mean()),
                "ci": ci,
                "median": float(np.median(values)),
                "sd": float(values.std(ddof=1)) if len(values) > 1 else None,
            }
        )
    low = scores <= at_most
    table = {
        "positive_low": int((positive & low).sum()),
        "positive_high": int((positive & ~low).sum()),
        "negative_low": int((~positive & low).sum()),
        "negative_high": int((~positive & ~low).sum()),
    }
    return {
        "rows": rows,
        "table": table,
        "ci_level": drawn.level,
        "resamples": drawn.resamples,
        "seed": drawn.seed,
    }
