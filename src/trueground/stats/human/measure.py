"""Scores against people's labels: every measure with its interval; differences of two scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from trueground.errors import UsageError
from trueground.stats.arithmetic.sums import sum_counts
from trueground.stats.bootstrap import Floats, Mask, percentiles, varying_interval
from trueground.stats.human.column import (
    Clusters,
    LabeledScores,
    LabelGroup,
    check_numbers,
    number_units,
)
from trueground.stats.human.estimates import (
    CALIBRATION,
    MEASURES,
    SAME,
    CalibrationByChance,
    Estimated,
    MeasureEstimate,
    calibration_by_chance,
    calibration_interval,
    raw_estimates,
)
from trueground.stats.human.weighing import confusion_measures, resample, weigh, weigh_once
from trueground.stats.rates import clopper_pearson
from trueground.stats.thresholds import ScoredLabels

PAIRED = ("auroc", "spearman")
BARS = 20
LEAST = 5  # items or groups: resamples of fewer tell next to nothing
_RATES = ("false_negative_rate", "false_positive_rate")
VERDICTS = (
    "balanced_accuracy",
    "matthews",
    "cohen_kappa",
    "fleiss_kappa",
    "krippendorff_alpha",
    "raw_agreement",
    *_RATES,
)
AGAINST_LIMIT = (*(name for name in VERDICTS if name != "krippendorff_alpha"), CALIBRATION)
_HUGE = 1e300
_FACTOR_OF_HUGE = 1 / (1 << 20)  # a power of two, so that no digit changes
_BEST = "balanced_accuracy_best"
_BOTH_KINDS = ("auroc", "point_biserial", "balanced_accuracy", _BEST, "matthews")
_RANKS = ("spearman", "kendall")
_SPREAD = (*_RANKS, "point_biserial", _BEST)


@dataclass(frozen=True)
class LabelStats:
    """The scores of the items with one label; `sd` is that of a sample (n − 1)."""

    label: float
    n: int
    mean: MeasureEstimate
    median: MeasureEstimate
    sd: MeasureEstimate


@dataclass(frozen=True)
class Measured(Estimated):
    """All that is known of one score against one label.

    `estimates` has each of MEASURES; the best balanced accuracy and the calibration error have no
    draws. `by_label` is by 0/1 label, `by_grade` by the labels as they are (in ordinal mode, at
    most 20). `confusion` is None without a threshold, `confusion_best` and `best_threshold` where
    none tells anything apart, `reliability` and `chance` where the score is no probability.
    `histogram` has the `edges` of its bars and the `counts` of items between them by 0/1 label
    ("0", "1").
    """

    PAIRED: ClassVar[tuple[str, ...]] = PAIRED

    positives: int
    level: float
    threshold: float | None
    best_threshold: float | None
    by_label: list[LabelStats]
    by_grade: list[LabelStats]
    confusion: dict[str, int] | None
    confusion_best: dict[str, int] | None
    reliability: list[dict[str, float | int]] | None
    histogram: dict[str, Any]
    chance: CalibrationByChance | None = field(repr=False, compare=False)

    @classmethod
    def measure_all(
        cls,
        scores: Mapping[str, ArrayLike],
        labels: ArrayLike,
        *,
        positive_above: float = 0.5,
        ordinal: bool = False,
        clusters: Clusters | None = None,
        threshold: float | Mapping[str, float | None] | None = 0.5,
        probability: bool | Mapping[str, bool] = True,
        at_least: bool = False,
        resamples: int = 2_000,
        seed: int = 0,
        level: float = 0.95,
        workers: int | None = None,
    ) -> dict[str, Measured]:
        """Every one of MEASURES of several scores of the same items, on the same resamples.

        `scores` maps a name to (n,) numbers; `labels` are (n,). `threshold` and `probability` may
        differ by name. A label is positive above `positive_above`, a verdict where the score is
        above `threshold`, with `at_least` also at it. Ranks and α are against the 0/1 label, with
        `ordinal` against the labels as they are (α then of the label and the grade nearest to the
        score). Items with equal `clusters` are drawn together. NaN in either marks an item that is
        left out; its unit is still drawn. What is undefined is None with its reason. Raises
        InputError for infinite numbers and other shapes.
        """
        truth = np.asarray(labels, np.float64)
        unit, units = number_units(len(truth), clusters)
        columns, wanted = {}, {}
        for name, one in scores.items():
            values = np.asarray(one, np.float64)
            check_numbers(name, values, truth)
            wanted[name] = probability if isinstance(probability, bool) else probability[name]
            columns[name] = LabeledScores(
                values,
                truth,
                unit,
                positive_above=positive_above,
                ordinal=ordinal,
                threshold=threshold[name] if isinstance(threshold, Mapping) else threshold,
                probability=wanted[name],
                at_least=at_least,
            )
        drawn = resample(
            weigh, list(columns.values()), units, resamples=resamples, seed=seed, workers=workers
        )
        return {
            name: assemble(one, units, draws, level=level, wanted=wanted[name], seed=seed)
            for (name, one), draws in zip(columns.items(), drawn, strict=True)
        }

    @staticmethod
    def differences(
        measured: Mapping[str, Measured],
        scores: Mapping[str, Floats],
        labels: Floats,
        against: Mapping[str, str],
        **options: Any,
    ) -> dict[str, dict[str, Estimated]]:
        """Return each score's measure less that of another, on the items that both have.

        `measured` is what `measure_all` made of the `scores` with these options; `against` maps
        some of PAIRED to the other score. If one of two has items that the other lacks, it is
        measured anew without them.
        """
        results: dict[str, dict[str, Estimated]] = {name: {} for name in against}
        masked: dict[tuple[str, bytes], Measured] = {}  # by score, and the items it is taken on
        plain: dict[str, Any] = {"threshold": None, "probability": False}
        for name, best in against.items():
            for key in scores:
                if key == best:
                    continue
                common = ~(np.isnan(scores[key]) | np.isnan(scores[best]))
                pair = []
                for one in (key, best):
                    same = measured[one].n == sum_counts(common & ~np.isnan(labels))
                    place = one, b"" if same else common.tobytes()
                    if place not in masked:
                        own = np.where(common, scores[one], np.nan)
                        again = measured[one] if same else measure(own, labels, **options, **plain)
                        masked[place] = again
                    pair.append(masked[place])
                results[name][key] = pair[0].minus(pair[1], name)
        return results

    def draws_of(self, name: str) -> tuple[Floats, ...]:
        """What the interval of a measure is made of; three kinds for the calibration error."""
        if name == CALIBRATION and self.chance is not None:
            return self.chance.low, self.chance.up, self.chance.calibrated
        return super().draws_of(name)

    def raw_chance(self) -> dict[str, float] | None:
        """What chance makes of the calibration error, in its JSON form."""
        return self.chance and {"mean": self.chance.mean, "high": self.chance.high}

    def minus(self, other: Measured, name: str = "auroc") -> Estimated:
        """Return one of PAIRED less that of `other`, with a paired interval and its draws.

        Both must come from the same items, clusters, seed and number of resamples, so that resample
        i is the same in both. UsageError for another measure or another number of resamples.
        """
        if name not in PAIRED:
            raise UsageError(
                f"no measure {name!r} can be paired; expected one of {', '.join(PAIRED)}"
            )
        first, second = self.draws[name], other.draws[name]
        if first.shape != second.shape:
            raise UsageError(
                f"{len(first)} and {len(second)} resamples are no pairs; measure both with the "
                "same number of resamples and seed"
            )
        left, right = self.estimates[name], other.estimates[name]
        apart, n = first - second, min(left.n, right.n)
        if left.value is None or right.value is None:
            estimate = MeasureEstimate(None, None, n, left.why if left.value is None else right.why)
        elif whys := [one.why for one in (left, right) if one.ci is None and one.why != SAME]:
            estimate = MeasureEstimate(left.value - right.value, None, n, whys[0])
        else:
            ci = varying_interval(apart, self.level)
            estimate = MeasureEstimate.from_interval(left.value - right.value, n, ci)
        return Estimated(n, {name: estimate}, {name: apart})

    def raw(self) -> dict[str, Any]:
        """The JSON form: everything but the draws."""
        return {
            "n": self.n,
            "positives": self.positives,
            "threshold": self.threshold,
            "measures": raw_estimates(self.estimates),
            "best_threshold": self.best_threshold,
            "by_label": list(map(asdict, self.by_label)),
            "by_grade": list(map(asdict, self.by_grade)),
            "confusion": self.confusion,
            "confusion_best": self.confusion_best,
            "calibration_by_chance": self.raw_chance(),
            "reliability": self.reliability,
            "histogram": self.histogram,
        }


def measure(scores: ArrayLike, labels: ArrayLike, **options: Any) -> Measured:
    """Every one of MEASURES of `scores` (n,) against `labels` (n,), with bootstrap intervals.

    Options and errors are those of `measure_all`, of which this is one score.
    """
    return Measured.measure_all({"score": scores}, labels, **options)["score"]


def assemble(
    one: LabeledScores,
    units: int,
    draws: dict[str, Floats],
    *,
    level: float,
    wanted: bool,
    seed: int,
) -> Measured:
    """The column's values, with intervals from its draws; `wanted` is a probability."""
    values = weigh_once(weigh, one, units)
    point = {name: float(value[0]) for name, value in values.items()}
    chance = None
    if found := calibration_by_chance(one, values, draws, level, seed):
        point[CALIBRATION], chance = found
    one_sided = one.ordinal and (one.positive.all() or not one.positive.any())
    if one_sided:  # a limit that parts no grades: nothing can be said of verdicts
        point |= dict.fromkeys(AGAINST_LIMIT, np.nan)
        chance = None
    best, at_best = _best_threshold(one), None
    if best is not None:
        at_best = _confusion(one, int(np.searchsorted(one.distinct, best, "right")))
        point[_BEST] = float(confusion_measures(**at_best)["balanced_accuracy"])
    groups = {
        **dict(zip("01", one.kinds, strict=True)),
        **{f"grade {number}": group for number, group in enumerate(one.grades)},
    }
    by_label = [_label_stats(group, name, point, draws, level) for name, group in groups.items()]
    return Measured(
        n=one.n,
        positives=sum_counts(one.positive),
        level=level,
        threshold=one.threshold,
        estimates={
            name: _estimate(name, one, point.get(name, np.nan), draws, chance, level, wanted)
            for name in MEASURES
        },
        best_threshold=best,
        by_label=by_label[:2],
        by_grade=by_label[2:],
        confusion=None if one_sided or one.threshold is None else _confusion(one, one.below),
        confusion_best=at_best,
        reliability=None if one_sided else _reliability(one),
        histogram=_histogram(one, unit_scale=wanted),
        chance=chance,
        draws={name: draws[name] for name in MEASURES if name in draws},
    )


def units_of(column: LabeledScores, members: Mask) -> int:
    """How many units hold these items."""
    return len(np.unique(column.unit[members]))


def _best_threshold(one: LabeledScores) -> float | None:
    """As in stats.thresholds; None where no threshold tells anything apart."""
    if len(one.distinct) < 2 or one.positive.all() or not one.positive.any():
        return None
    # Differences of the greatest numbers there are would overflow.
    factor = _FACTOR_OF_HUGE if np.abs(one.distinct).max() > _HUGE else 1.0
    return ScoredLabels(one.scores * factor, one.positive).best_threshold() / factor


def _estimate(
    name: str,
    one: LabeledScores,
    value: float,
    draws: Mapping[str, Floats],
    chance: CalibrationByChance | None,
    level: float,
    wanted: bool,
) -> MeasureEstimate:
    """One of MEASURES. A rate at the threshold has an exact interval where items stand alone."""
    above, positive = one.scores > (one.threshold or 0.0), one.positive
    counted = {
        "false_negative_rate": (positive, ~above),
        "false_positive_rate": (~positive, above),
        "raw_agreement": (np.ones(one.n, np.bool_), above == positive),
    }
    members, hits = counted.get(name, counted["raw_agreement"])
    n = sum_counts(members)
    if not np.isfinite(value):
        return MeasureEstimate(None, None, n, _why_undefined(name, one, wanted))
    if name in counted and one.threshold is not None and one.alone:
        ci = clopper_pearson(sum_counts(members & hits), n, level)
        return MeasureEstimate(value, ci, n)
    if why := _why_no_interval(name, one):
        return MeasureEstimate(value, None, n, why)
    if name == CALIBRATION and chance is not None:
        ends = calibration_interval(value, chance.low, chance.up, chance.calibrated, level)
    else:
        ends = varying_interval(draws[name], level)
    return MeasureEstimate.from_interval(value, n, ends)


def _why_undefined(name: str, column: LabeledScores, wants_probability: bool) -> str:
    n, positives, distinct = column.n, sum_counts(column.positive), column.distinct
    both = _needs_both(name, column)
    if not n:
        return "no item has both a score and a label"
    if name in VERDICTS and column.threshold is None:
        return "there is no default threshold"
    if column.ordinal and name in AGAINST_LIMIT and positives in (0, n):
        what = "all" if positives else "none"
        return f"{what} of the {n} labels are above the limit for positive ones"
    run = f"the scores run from {distinct[0]:g} to {distinct[-1]:g}"
    if name == CALIBRATION:
        if not wants_probability:
            return "the score is no probability"
        return f"{run}; a probability lies between 0 and 1"
    if name == "false_negative_rate" or (both and not positives):
        return f"none of the {n} labels is positive"
    if name == "false_positive_rate" or (both and positives == n):
        return f"all of the {n} labels are positive"
    low, high = column.labels.min(), column.labels.max()
    if column.ordinal and name in _RANKS and low == high:
        return f"all of the {n} labels are {low:g}"
    if name in _SPREAD and len(distinct) == 1:
        return f"all of the {n} scores are {distinct[0]:g}"
    if column.ordinal and name == "krippendorff_alpha":
        if distinct[0] < low or distinct[-1] > high:
            return f"{run}, the labels from {low:g} to {high:g}: not on one scale"
        return f"all of the {n} scores and labels are of one grade"
    if name == "matthews":
        side = ("at or above", "below") if column.at_least else ("above", "at or below")
        where = side[column.below > 0]
        return f"all of the {n} scores are {where} the threshold {column.threshold:g}"
    if name in VERDICTS:
        return f"score and label say the same of all {n} items, as they would by chance"
    return "it is undefined on these items"


def _why_no_interval(name: str, column: LabeledScores) -> str | None:
    """Why a value has no interval: it is chosen here, or rests on too few units; else None."""
    if name == _BEST:
        return "chosen on these labels, so it flatters; `judge calibrate` has one held out"
    sides = {"positive": column.positive, "negative": ~column.positive}
    if name in _RATES:
        del sides["positive" if name == "false_positive_rate" else "negative"]
    elif not _needs_both(name, column):
        sides = {"labeled": np.ones(column.n, np.bool_)}
    for side, members in sides.items():
        units = units_of(column, members)
        if units < LEAST:
            what = "items" if column.alone else "groups with items"
            return f"{units} {side} {what} are too few to draw from: an interval takes {LEAST}"
    return None


def _needs_both(name: str, column: LabeledScores) -> bool:
    return name in _BOTH_KINDS or (name in _RANKS and not column.ordinal)


def _label_stats(
    group: LabelGroup,
    name: str,
    point: Mapping[str, float],
    draws: Mapping[str, Floats],
    level: float,
) -> LabelStats:
    """Mean, median and standard deviation of the scores of one label."""
    estimates = []
    for key in (f"{name}/{statistic}" for statistic in ("mean", "median", "sd")):
        value, ci = point[key], None
        if not np.isfinite(value):
            why = "no item has this label" if not group.n else "one item has no spread"
            why = why if group.n < 2 else "the scores are too large"
            estimates.append(MeasureEstimate(None, None, group.n, why))
            continue
        if len(np.unique(group.unit)) < LEAST:
            why = f"its items are fewer than {LEAST}, or fewer groups: too few to draw from"
            estimates.append(MeasureEstimate(value, None, group.n, why))
            continue
        # A median may well be the same in every resample, but not where all scores are.
        if group.scores[0] < group.scores[-1]:
            ci = percentiles(draws[key], level)
        estimates.append(MeasureEstimate.from_interval(value, group.n, ci))
    return LabelStats(group.label, group.n, *estimates)


def _confusion(column: LabeledScores, below: int) -> dict[str, int]:
    """How many items of each label have a verdict of yes or no, no in the lowest `below` places."""
    tn, fn = (int(upto[below]) for upto in column.upto)
    n, p = (int(upto[-1]) for upto in column.upto)
    return {"tp": p - fn, "fp": n - tn, "fn": fn, "tn": tn}


def _reliability(column: LabeledScores) -> list[dict[str, float | int]] | None:
    """The bins of the calibration error, rising; None where the score is no probability."""
    if column.bins is None:
        return None
    return [
        {"mean_score" if key == "mean_probability" else key: value for key, value in one.items()}
        for one in ScoredLabels(column.scores, column.positive).reliability()
    ]


def _histogram(column: LabeledScores, unit_scale: bool) -> dict[str, Any]:
    """Scores by 0/1 label on one axis: from 0 to 1 for probabilities, else as far as they go."""
    if not column.n:
        return {"edges": [], "counts": {"0": [], "1": []}}
    low, high = float(column.distinct[0]), float(column.distinct[-1])
    if column.bins is not None and unit_scale:
        low, high = 0.0, 1.0
    elif low == high:
        low, high = low - 0.5, high + 0.5
    along = np.arange(BARS + 1) / BARS
    edges = low * (1 - along) + high * along
    inner = np.searchsorted(edges[1:-1], column.scores, side="right")
    counts = {
        name: np.bincount(inner[members], minlength=BARS).tolist()
        for name, members in (("0", ~column.positive), ("1", column.positive))
    }
    return {"edges": edges.tolist(), "counts": counts}
