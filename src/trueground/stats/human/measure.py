"""Scores against people's labels: every measure with its interval; differences of two scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trueground.errors import UsageError
from trueground.stats import calibration
from trueground.stats.bootstrap import Floats, percentiles
from trueground.stats.human.calibration import (
    CALIBRATION,
    CalibrationByChance,
    calibration_by_chance,
    calibration_interval,
    sum_gaps,
)
from trueground.stats.human.column import (
    Clusters,
    LabelGroup,
    LabelledScores,
    check_numbers,
    label_scores,
    number_units,
)
from trueground.stats.human.estimates import (
    MEASURES,
    LabelStats,
    Measured,
    MeasureEstimate,
    varying_interval,
)
from trueground.stats.human.reasons import (
    AGAINST_LIMIT,
    LEAST,
    why_no_interval,
    why_undefined,
)
from trueground.stats.human.resampling import resample, weigh_once
from trueground.stats.human.weighing import confusion_measures, weigh, weigh_ranks
from trueground.stats.proportions import clopper_pearson
from trueground.stats.thresholds import best_threshold

PAIRED = ("auroc", "spearman")
BARS = 20
_HUGE = 1e300
_BEST = "balanced_accuracy_best"


def measure(scores: ArrayLike, labels: ArrayLike, **options: Any) -> Measured:
    """Every one of MEASURES of `scores` (n,) against `labels` (n,), with bootstrap intervals.

    Options and errors are those of `measure_all`, of which this is one score.
    """
    return measure_all({"score": scores}, labels, **options)["score"]


def measure_all(
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
    differ by name. A label is positive above `positive_above`, a verdict where the score is above
    `threshold`, with `at_least` also at it. Ranks and α are against the 0/1 label, with `ordinal`
    against the labels as they are (α then of the label and the grade nearest to the score). Items
    with equal `clusters` are drawn together. NaN in either marks an item that is left out; its unit
    is still drawn. What is undefined is None with its reason. Raises InputError for infinite
    numbers and other shapes.
    """
    truth = np.asarray(labels, np.float64)
    unit, units = number_units(len(truth), clusters)
    columns, wanted = {}, {}
    for name, one in scores.items():
        values = np.asarray(one, np.float64)
        check_numbers(name, values, truth)
        wanted[name] = probability if isinstance(probability, bool) else probability[name]
        columns[name] = label_scores(
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


def assemble(
    one: LabelledScores,
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
    chance = calibration_by_chance(one, values, draws, level, seed)
    if chance is not None:
        point[CALIBRATION] = sum_gaps(values)
    one_sided = one.ordinal and (one.positive.all() or not one.positive.any())
    if one_sided:  # a limit that parts no grades: nothing can be said of verdicts
        point |= dict.fromkeys(AGAINST_LIMIT, np.nan)
        chance = None
    best, at_best = _best_threshold(one), None
    if best is not None:
        at_best = _confusion(one, int(np.searchsorted(one.distinct, best, "right")))
        point[_BEST] = float(confusion_measures(**at_best)["balanced_accuracy"])
    by_label = [
        _label_stats(group, name, point, draws, level)
        for name, group in [
            *zip("01", one.kinds, strict=True),
            *((f"grade {number}", group) for number, group in enumerate(one.grades)),
        ]
    ]
    return Measured(
        n=one.n,
        positives=int(one.positive.sum()),
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


def _best_threshold(one: LabelledScores) -> float | None:
    """As in stats.thresholds; None where no threshold tells anything apart."""
    if len(one.distinct) < 2 or one.positive.all() or not one.positive.any():
        return None
    # Differences of the greatest numbers there are would overflow.
    factor = 2.0**-20 if np.abs(one.distinct).max() > _HUGE else 1.0
    return best_threshold(one.scores * factor, one.positive) / factor


def _estimate(
    name: str,
    one: LabelledScores,
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
    n = int(members.sum())
    if not np.isfinite(value):
        return MeasureEstimate(None, None, n, why_undefined(name, one, wanted))
    if name in counted and one.threshold is not None and one.alone:
        ci = clopper_pearson(int((members & hits).sum()), n, level)
        return MeasureEstimate(value, ci, n)
    if why := why_no_interval(name, one):
        return MeasureEstimate(value, None, n, why)
    if name == CALIBRATION and chance is not None:
        ends = calibration_interval(value, chance.low, chance.up, chance.calibrated, level)
    else:
        ends = varying_interval(draws[name], level)
    return MeasureEstimate.from_interval(value, n, ends)


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


def _confusion(column: LabelledScores, below: int) -> dict[str, int]:
    """How many items of each label have a verdict of yes or no, no in the lowest `below` places."""
    tn, fn = (int(upto[below]) for upto in column.upto)
    n, p = (int(upto[-1]) for upto in column.upto)
    return {"tp": p - fn, "fp": n - tn, "fn": fn, "tn": tn}


def _reliability(column: LabelledScores) -> list[dict[str, float | int]] | None:
    """The bins of the calibration error, rising; None where the score is no probability."""
    if column.bins is None:
        return None
    return [
        {"mean_score" if key == "mean_probability" else key: value for key, value in one.items()}
        for one in calibration.reliability(column.scores, column.positive)
    ]


def _histogram(column: LabelledScores, unit_scale: bool) -> dict[str, Any]:
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


def paired_difference(a: Measured, b: Measured, name: str = "auroc") -> MeasureEstimate:
    """The measure of `a` less that of `b`, with a paired interval.

    Both must come from the same items, clusters, seed and number of resamples (one `measure_all`,
    or calls with the same arguments), so that resample i is the same in both. UsageError for an
    unknown measure or another number of resamples.
    """
    if name not in MEASURES:
        raise UsageError(f"no measure {name!r}; expected one of {', '.join(MEASURES)}")
    left, right = a.estimates[name], b.estimates[name]
    n = min(left.n, right.n)
    if left.value is None or right.value is None:
        return MeasureEstimate(None, None, n, left.why if left.value is None else right.why)
    value = left.value - right.value
    if left.ci is None or right.ci is None:
        return MeasureEstimate(value, None, n, left.why or right.why)
    if name not in a.draws or name not in b.draws:
        why = "its interval is not made of draws that can be paired"
        return MeasureEstimate(value, None, n, why)
    first, second = a.draws[name], b.draws[name]
    if first.shape != second.shape:
        raise UsageError(
            f"{len(first)} and {len(second)} resamples are no pairs; measure both with the same "
            "number of resamples and seed"
        )
    return MeasureEstimate(value, percentiles(first - second, a.level), n)


def paired_differences(
    scores: Mapping[str, Floats],
    labels: Floats,
    against: Mapping[str, str],
    *,
    positive_above: float = 0.5,
    ordinal: bool = False,
    clusters: Clusters | None = None,
    resamples: int = 2_000,
    seed: int = 0,
    level: float = 0.95,
    workers: int | None = None,
) -> dict[str, dict[str, tuple[MeasureEstimate, Floats]]]:
    """Each score's measure less that of the one it is held against, on the items that both have.

    `scores` and `labels` (n,) are as for `measure_all`; `against` maps some of PAIRED to a score.
    Each difference comes with its draws (resamples,), from the resamples that `measure_all` has.
    """
    unit, units = number_units(len(labels), clusters)
    columns: dict[tuple[str, bytes], LabelledScores] = {}  # by score, and the items it is taken on
    plan = []
    for name, best in against.items():
        for key in scores:
            if key == best:
                continue
            common = ~(np.isnan(scores[key]) | np.isnan(scores[best]))
            own, other = (key, common.tobytes()), (best, common.tobytes())
            plan.append((name, key, own, other))
            for place in (own, other):
                if place not in columns:
                    columns[place] = label_scores(
                        np.where(common, scores[place[0]], np.nan),
                        labels,
                        unit,
                        positive_above=positive_above,
                        ordinal=ordinal,
                    )
    drawn = resample(
        weigh_ranks, list(columns.values()), units, resamples=resamples, seed=seed, workers=workers
    )
    draws = dict(zip(columns, drawn, strict=True))
    points = {place: weigh_once(weigh_ranks, one, units) for place, one in columns.items()}
    results: dict[str, dict[str, tuple[MeasureEstimate, Floats]]] = {name: {} for name in against}
    for name, key, own, other in plan:
        apart = draws[own][name] - draws[other][name]
        values = [float(points[place][name][0]) for place in (own, other)]
        n = columns[own].n
        missing = [
            columns[place]
            for place, value in zip((own, other), values, strict=True)
            if not np.isfinite(value)
        ]
        if missing:
            why = why_undefined(name, missing[0], wants_probability=False)
            estimate = MeasureEstimate(None, None, n, why)
        elif reason := why_no_interval(name, columns[own]):
            estimate = MeasureEstimate(values[0] - values[1], None, n, reason)
        else:
            ci = varying_interval(apart, level)
            estimate = MeasureEstimate.from_interval(values[0] - values[1], n, ci)
        results[name][key] = estimate, apart
    return results
