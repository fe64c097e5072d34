"""Scores against 0/1 labels: AUROC, every threshold, the best, and how far to trust it.

A score counts as positive where it is strictly greater than the threshold. Between two neighboring
scores all thresholds are alike, so n distinct scores allow n + 1 different cuts. What is chosen or
fitted on all parts of the items but one can be judged by that part: see `ScoredLabels.held_out`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueground.errors import InputError, UsageError
from trueground.stats.arithmetic.sums import dot, mean, sum_counts, total
from trueground.stats.bootstrap import Floats, Ints, Mask, ratio, sum_clusters
from trueground.stats.rates import lower_bound

MEASURES = (
    "precision",
    "recall",
    "f1",
    "specificity",
    "accuracy",
    "balanced_accuracy",
    "matthews",
    "kappa",
    "share_positive",
)
_ALIKE = 1e-12
# Chooses a threshold, or a curve from scores to probabilities, that suits scores and labels.
Choose = Callable[["ScoredLabels"], float | Callable[[Floats], Floats]]


@dataclass(frozen=True)
class ThresholdCurve:
    """Every cut, from "all are positive" to "none is"; arrays of shape (distinct scores + 1,)."""

    thresholds: Floats
    true_positive: Floats
    false_positive: Floats
    positives: float
    negatives: float
    scores: Floats

    def measures(self) -> dict[str, Floats]:
        """Each of MEASURES at each cut; see `measures`."""
        return measures(self.true_positive, self.false_positive, self.positives, self.negatives)


@dataclass(frozen=True)
class HeldOut:
    """Each part of the items judged by what was chosen or fitted on the others.

    `chosen` has a threshold or a curve for each part, `values` (n,) what it gives each item;
    without them `reason` says why.
    """

    chosen: tuple[Any, ...] = ()
    values: Floats | None = None
    reason: str | None = None


class PrecisionAbove(NamedTuple):
    """The share of positives above a threshold, with its one-sided lower bound.

    `value` is None if no score is above it; `lower` is None for fewer than two items or groups.
    """

    value: float | None
    lower: float | None
    n: int
    groups: int | None


class BrierDifference(NamedTuple):
    """A difference of two Brier scores, and its standard error."""

    difference: float
    standard_error: float


@dataclass(frozen=True, eq=False)
class ScoredLabels:
    """Scores and 0/1 labels of the same items, both of shape (n,).

    `OBJECTIVES` are what a threshold may be chosen for. Between a 0/1 verdict and a 0/1 label
    Pearson's correlation, the point-biserial one and Matthews' coefficient are one number.
    """

    OBJECTIVES: ClassVar[tuple[str, ...]] = (
        "balanced_accuracy",
        "f1",
        "accuracy",
        "matthews",
        "correlation",
        "kappa",
    )
    MEASURES: ClassVar[tuple[str, ...]] = MEASURES

    scores: Floats
    labels: Mask

    def select(self, members: Mask) -> ScoredLabels:
        """Return only these items."""
        return ScoredLabels(self.scores[members], self.labels[members])

    def check(self) -> None:
        """Raise InputError unless each label has a finite score and both kinds occur."""
        scores, labels = self.scores, self.labels
        if scores.ndim != 1 or scores.shape != labels.shape:
            raise InputError(
                f"{scores.shape} scores and {labels.shape} labels; expected one for each"
            )
        if not np.isfinite(scores).all():
            bad = sum_counts(~np.isfinite(scores))
            raise InputError(f"{bad} of {len(scores)} scores are not finite; leave these out")
        positives = sum_counts(labels)
        if positives in (0, len(labels)):
            raise InputError(
                f"{positives} of {len(labels)} labels are positive; expected some of both kinds"
            )

    def auroc(self) -> float:
        """Return the chance that a positive scores above a negative, ties half. InputError."""
        self.check()
        _, place = np.unique(self.scores, return_inverse=True)
        positive, negative = _counts_at(place, self.labels)
        below = np.cumsum(negative) - negative / 2
        return dot(positive, below) / (total(positive) * total(negative))

    def curve(self) -> ThresholdCurve:
        """Return all cuts; thresholds lie midway between neighboring scores. InputError.

        The first lies below all scores by half the mean gap (they are all positive), the last is
        the highest score (none is).
        """
        self.check()
        distinct, place = np.unique(self.scores, return_inverse=True)
        positive, negative = _counts_at(place, self.labels)
        gap = (distinct[-1] - distinct[0]) / (len(distinct) - 1) if len(distinct) > 1 else 1.0
        first = min(distinct[0] - gap / 2, np.nextafter(distinct[0], -np.inf))
        between = midway(distinct[:-1], distinct[1:])
        positives, negatives = total(positive), total(negative)
        return ThresholdCurve(
            np.concatenate(([first], between, distinct[-1:])),
            positives - np.concatenate(([0.0], np.cumsum(positive))),
            negatives - np.concatenate(([0.0], np.cumsum(negative))),
            positives,
            negatives,
            distinct,
        )

    def measures_at(self, threshold: float | Floats) -> dict[str, float | None]:
        """Return MEASURES at a threshold, or at one for each score; None if undefined."""
        labels = self.labels
        above = self.scores > threshold
        tp, fp = sum_counts(above & labels), sum_counts(above & ~labels)
        values = measures(np.array(tp), np.array(fp), sum_counts(labels), sum_counts(~labels))
        return {name: None if np.isnan(value) else float(value) for name, value in values.items()}

    def best_threshold(self, objective: str = "balanced_accuracy") -> float:
        """Return the threshold at which the objective is highest on these scores.

        Equally good cuts side by side make one plateau. The widest, in units of the score, is
        taken, of equally wide ones the lowest; the threshold is its middle. InputError, UsageError.
        """
        if objective not in self.OBJECTIVES:
            raise UsageError.unknown_name("objective", objective, self.OBJECTIVES)
        cuts = self._different_cuts()
        values = cuts.measures()[self.measure_of(objective)]
        best = np.append(np.isclose(values, np.nanmax(values), rtol=0, atol=_ALIKE), False)
        turns = np.flatnonzero(np.diff(best, prepend=False))
        starts, ends = turns[::2], turns[1::2] - 1
        # Cut i lies between edges i and i + 1; the outermost cuts have no width.
        edges = np.concatenate((cuts.scores[:1], cuts.scores, cuts.scores[-1:]))
        widest = int(np.argmax(edges[ends + 1] - edges[starts]))
        start, end = int(starts[widest]), int(ends[widest])
        if start == end:
            return float(cuts.thresholds[start])
        return float(midway(edges[start], edges[end + 1]))

    @staticmethod
    def measure_of(objective: str) -> str:
        """Return which of MEASURES an objective looks at."""
        return "matthews" if objective == "correlation" else objective

    def threshold_for_precision(self, wanted: float) -> float:
        """Return the lowest threshold at which at least this share of what lies above is positive.

        InputError where none reaches it, with the best that one does, and for what allows no
        threshold; UsageError where `wanted` is not above 0 and at most 1.
        """
        if not 0 < wanted <= 1:
            raise UsageError(f"precision={wanted:g}; expected a number above 0, and at most 1")
        cuts = self._different_cuts()
        values = cuts.measures()
        reached = values["precision"][:-1] >= wanted - _ALIKE  # the last cut has nothing above it
        if reached.any():
            return float(cuts.thresholds[int(np.argmax(reached))])
        best = int(np.nanargmax(values["precision"]))
        above = int(cuts.true_positive[best] + cuts.false_positive[best])
        raise InputError(
            f"no threshold reaches a precision of {wanted:g}: the best is "
            f"{_round_down(values['precision'][best])}, at {cuts.thresholds[best]:.4g}, where "
            f"{above:,} of {len(self.scores):,} scores lie above it "
            f"(recall {values['recall'][best]:.3f}); ask for less, or take another judge"
        )

    def held_out(
        self, parts: Ints, choose: Choose = best_threshold, verb: str = "choose"
    ) -> HeldOut:
        """Choose a threshold, or fit a curve, on all parts but one, for each part, counted from 0.

        Where the items outside a part allow no choice, there is a reason; `verb` is its word.
        """
        number = int(parts.max(initial=-1)) + 1
        if number < 2:
            return HeldOut(reason=f"there is one part only, so nothing is left to {verb} on")
        chosen: list[Any] = []
        values = np.empty(len(self.scores))
        for part in range(number):
            mine = parts == part
            try:
                one = choose(self.select(~mine))
            except InputError as error:
                return HeldOut(reason=f"without part {part + 1} of {number}: {error}")
            chosen.append(one)
            values[mine] = one(self.scores[mine]) if callable(one) else one
        return HeldOut(tuple(chosen), values)

    def folds(self, clusters: Ints | None = None, *, parts: int = 5, seed: int = 0) -> Ints:
        """Return a part for each item, shape (n,); see `folds`."""
        return folds(len(self.scores), clusters, parts=parts, seed=seed)

    def precision_above(
        self, threshold: float | Floats, clusters: Ints | None = None, *, level: float = 0.95
    ) -> PrecisionAbove:
        """Return the share of positives above a threshold, or above one for each score."""
        over = self.scores > threshold
        hits, units = self.labels[over], None if clusters is None else clusters[over]
        return PrecisionAbove(
            value=sum_counts(hits) / len(hits) if len(hits) else None,
            lower=lower_bound(hits, units, level=level),
            n=len(hits),
            groups=None if units is None else len(np.unique(units)),
        )

    def calibration_error(self, bins: int = 10) -> float | None:
        """Return the expected calibration error of scores that are probabilities.

        It is |mean probability − share of positives|, averaged over bins.
        Bins hold equally many items; equal probabilities stay in one. None without items.
        """
        if not len(self.scores):
            return None
        difference = np.bincount(_bins(self.scores, bins), self.scores - self.labels)
        return total(np.abs(difference)) / len(self.scores)

    def reliability(self, bins: int = 10) -> list[dict[str, float | int]]:
        """Return ends, means and number of items of each bin of `calibration_error`, ascending."""
        if not len(self.scores):
            return []
        place = _bins(self.scores, bins)
        return [
            {
                "low": float(own.min()),
                "high": float(own.max()),
                "mean_probability": mean(own),
                "share_positive": sum_counts(self.labels[place == number]) / len(own),
                "n": len(own),
            }
            for number in np.unique(place)
            for own in (self.scores[place == number],)
        ]

    def brier(self) -> float | None:
        """Return the mean squared difference from the labels (Brier 1950); None without items.

        The scores must be probabilities.
        """
        apart = self.scores - self.labels
        return dot(apart, apart) / len(apart) if len(apart) else None

    def brier_difference(
        self, probabilities: Floats, clusters: Ints | None = None
    ) -> BrierDifference:
        """Return the Brier score less that of other probabilities of the same items, shape (n,)."""
        errors, others = self.scores - self.labels, probabilities - self.labels
        worse = errors * errors - others * others
        difference = mean(worse)
        sums = sum_clusters(worse - difference, clusters)
        return BrierDifference(difference, math.sqrt(dot(sums, sums)) / len(worse))

    def _different_cuts(self) -> ThresholdCurve:
        """The curve. InputError also where there is only one score."""
        cuts = self.curve()
        if len(cuts.scores) < 2:
            raise InputError(
                f"all {len(self.scores)} scores are {self.scores[0]:g}, so no threshold can "
                "separate them"
            )
        return cuts


def _bins(probability: Floats, bins: int) -> NDArray[np.intp]:
    """The bin of each item, from 0 on; some numbers may be missing."""
    inner = np.quantile(probability, np.arange(1, bins) / bins, method="inverted_cdf")
    return np.searchsorted(np.unique(inner), probability, side="left")


def _counts_at(place: NDArray[np.intp], labels: Mask) -> tuple[Floats, Floats]:
    """Number of positives and of negatives at each place, from 0 on."""
    size = int(place.max()) + 1
    both = np.bincount(place + size * labels, minlength=2 * size).astype(np.float64)
    return both[size:], both[:size]


def midway(low: Floats, high: Floats) -> Floats:
    """A threshold with `low` at or below it and `high` above it, in the middle if there is room."""
    middle = low / 2 + high / 2
    return np.where((middle >= low) & (middle < high), middle, low)


def measures(
    true_positive: Floats, false_positive: Floats, positives: float, negatives: float
) -> dict[str, Floats]:
    """Each of MEASURES from counts; NaN where a measure has nothing to divide by."""
    tp, fp = np.asarray(true_positive, float), np.asarray(false_positive, float)
    tn, all_ = negatives - fp, positives + negatives
    recall, specificity = ratio(tp, positives), ratio(tn, negatives)
    spread = (tp + fp) * positives * negatives * (all_ - tp - fp)
    # Cohen's (agreement - chance) / (1 - chance), both sides multiplied by the square of all.
    by_chance = (tp + fp) * negatives + positives * (all_ - tp - fp)
    return {
        "precision": ratio(tp, tp + fp),
        "recall": recall,
        "f1": ratio(2 * tp, tp + fp + positives),
        "specificity": specificity,
        "accuracy": ratio(tp + tn, all_),
        "balanced_accuracy": (recall + specificity) / 2,
        "matthews": ratio(tp * tn - fp * (positives - tp), np.sqrt(spread)),
        "kappa": ratio(2 * (tp * tn - fp * (positives - tp)), by_chance),
        "share_positive": ratio(tp + fp, all_),
    }


def folds(n: int, clusters: Ints | None = None, *, parts: int = 5, seed: int = 0) -> Ints:
    """A part for each item, shape (n,): clusters stay whole, shuffled by the seed, dealt out."""
    _, units = np.unique(np.arange(n) if clusters is None else clusters, return_inverse=True)
    size = int(units.max()) + 1 if n else 0
    order = np.random.Generator(np.random.SFC64(seed)).permutation(size)
    return np.asarray(order[units] % parts, np.int64)


def _round_down(value: float) -> str:
    """Four digits, never more than the value: what is called reachable can be reached."""
    return f"{np.floor(value * 1e4 + 1e-9) / 1e4:.4f}"
