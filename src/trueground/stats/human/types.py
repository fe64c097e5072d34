"""What is measured of a score against people's labels, and the shapes that the numbers take."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

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


@dataclass(frozen=True)
class Estimate:
    """A number, its interval, and the number of items behind it.

    `value` is None where it is undefined, `ci` also where it has no interval; `why` then says why.
    """

    value: float | None
    ci: tuple[float, float] | None
    n: int
    why: str | None = None

    def raw(self) -> dict[str, Any]:
        """The JSON form: value, ci as a list of two, n, why."""
        ci = None if self.ci is None else list(self.ci)
        return {"value": self.value, "ci": ci, "n": self.n, "why": self.why}


@dataclass(frozen=True)
class LabelStats:
    """The scores of the items with one label; `sd` is that of a sample (n − 1)."""

    label: float
    n: int
    mean: Estimate
    median: Estimate
    sd: Estimate

    def raw(self) -> dict[str, Any]:
        """The JSON form, the estimates nested."""
        each = {name: getattr(self, name).raw() for name in ("mean", "median", "sd")}
        return {"label": self.label, "n": self.n, **each}


@dataclass(frozen=True)
class Bin:
    """Items with neighbouring scores: from `low` to `high`, both met."""

    low: float
    high: float
    mean_score: float
    share_positive: float
    n: int


@dataclass(frozen=True)
class Chance:
    """What chance makes of a calibration error, at the level of the intervals.

    `mean` is what perfectly calibrated scores would have on average on as many such items, `high`
    what they would stay below. Of `low` and `up` (resamples,) and `calibrated` (1,000 or more,) an
    interval is made: see `calibration.ends`.
    """

    mean: float
    high: float
    low: Floats
    up: Floats
    calibrated: Floats

    def raw(self) -> dict[str, float]:
        """The JSON form."""
        return {"mean": self.mean, "high": self.high}


@dataclass(frozen=True)
class Histogram:
    """`counts["0"]` and `counts["1"]`: items of each 0/1 label between neighbouring `edges`."""

    edges: list[float]
    counts: dict[str, list[int]]


@dataclass(frozen=True)
class Measured:
    """All that is known of one score against one label.

    `estimates` has each of MEASURES, in their order. `by_label` is by 0/1 label, `by_grade` by the
    labels as they are (in ordinal mode, for at most 20 of them). `confusion` is None without a
    threshold, `confusion_best` and `best_threshold` where no threshold tells anything apart,
    `reliability` and `chance` (what chance makes of the calibration error) where the score is no
    probability. `draws` holds the measures in each resample, shape (resamples,), NaN where they are
    undefined; the best balanced accuracy and the calibration error have none.
    """

    n: int
    positives: int
    level: float
    threshold: float | None
    estimates: dict[str, Estimate]
    best_threshold: float | None
    by_label: list[LabelStats]
    by_grade: list[LabelStats]
    confusion: dict[str, int] | None
    confusion_best: dict[str, int] | None
    reliability: list[Bin] | None
    histogram: Histogram
    chance: Chance | None = field(repr=False, compare=False)
    draws: dict[str, Floats] = field(repr=False, compare=False)

    def raw(self) -> dict[str, Any]:
        """The JSON form: everything but the draws."""
        return {
            "n": self.n,
            "positives": self.positives,
            "threshold": self.threshold,
            "measures": {name: one.raw() for name, one in self.estimates.items()},
            "best_threshold": self.best_threshold,
            "by_label": [one.raw() for one in self.by_label],
            "by_grade": [one.raw() for one in self.by_grade],
            "confusion": self.confusion,
            "confusion_best": self.confusion_best,
            "calibration_by_chance": self.chance and self.chance.raw(),
            "reliability": self.reliability and [vars(one) for one in self.reliability],
            "histogram": {"edges": self.histogram.edges, "counts": self.histogram.counts},
        }
