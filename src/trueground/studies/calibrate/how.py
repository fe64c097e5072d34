"""How a calibration is made: what the threshold is chosen for, and which curve is fitted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from trueground.errors import InputError, UsageError, unknown_name
from trueground.judges.calibrated import METHODS
from trueground.stats import isotonic, logistic
from trueground.stats.held_out import Choose
from trueground.stats.thresholds import (
    OBJECTIVES,
    Floats,
    Mask,
    best_threshold,
    measure_of,
    threshold_for_precision,
)

DEFAULT_OBJECTIVE = "balanced_accuracy"
PRECISION = "precision"
# Fewer of a kind than this, and steps follow single records.
LEAST_OF_A_KIND = 20
# Below so many the literature finds that isotonic curves follow chance (Niculescu-Mizil & Caruana
# 2005, "Predicting good probabilities with supervised learning").
USUAL_LEAST = 1_000


@dataclass(frozen=True)
class How:
    """The choices. `wanted` is a precision; with it there is no objective. UsageError."""

    asked: str | None
    wanted: float | None
    method: str
    seed: int
    resamples: int
    level: float

    def __post_init__(self) -> None:
        if self.asked is not None and self.asked not in OBJECTIVES:
            raise unknown_name("objective", self.asked, OBJECTIVES)
        if self.method not in METHODS:
            raise unknown_name("method", self.method, METHODS)
        if self.wanted is not None and self.asked is not None:
            raise UsageError(
                f"objective={self.asked} and precision={self.wanted:g}: the threshold is chosen "
                "for one of them; leave the other out"
            )
        if self.wanted is not None and not 0 < self.wanted <= 1:
            raise UsageError(f"precision={self.wanted:g}; expected a number above 0, and at most 1")
        if self.resamples < 1 or self.seed < 0 or not 0 < self.level < 1:
            raise UsageError(
                f"resamples={self.resamples}, seed={self.seed}, level={self.level}; expected 1 or "
                "more, 0 or more, and a number between 0 and 1"
            )

    @property
    def chooses(self) -> bool:
        """Whether the user asks for a threshold of some kind."""
        return self.asked is not None or self.wanted is not None

    @property
    def objective(self) -> str:
        """What the threshold is chosen for: one of OBJECTIVES, or "precision"."""
        return PRECISION if self.wanted is not None else self.asked or DEFAULT_OBJECTIVE

    @property
    def measure(self) -> str:
        """The measure that says how well that goes."""
        return measure_of(self.objective)

    @property
    def choose(self) -> Choose:
        """Scores and labels → threshold. It raises InputError where there is none."""
        if self.wanted is not None:
            return partial(threshold_for_precision, wanted=self.wanted)
        return partial(best_threshold, objective=self.objective)


@dataclass(frozen=True)
class Curve:
    """A fitted curve; `fields` is what of it stands in the file."""

    read: Callable[[Floats], Floats]
    fields: dict[str, object]


def fit_curve(method: str, scores: Floats, labels: Mask) -> Curve:
    """The curve of one of METHODS. InputError: labels of one kind."""
    if method == "isotonic":
        knots = isotonic.fit(scores, labels)
        fields = {"slope": None, "intercept": None, "knots": knots.tolist()}
        return Curve(partial(isotonic.probabilities, knots=knots), fields)
    slope, intercept = logistic.fit(scores, labels)
    return Curve(
        partial(logistic.probabilities, slope=slope, intercept=intercept),
        {"slope": slope, "intercept": intercept, "knots": None},
    )


def check_enough(method: str, labels: Mask) -> None:
    """InputError where an isotonic curve would follow single records."""
    fewest = int(min(labels.sum(), (~labels).sum()))
    if method == "isotonic" and fewest < LEAST_OF_A_KIND:
        raise InputError(
            f"method=isotonic with {fewest} records of the rarer kind; expected "
            f"{LEAST_OF_A_KIND} or more of each; label more, or take method=platt"
        )
