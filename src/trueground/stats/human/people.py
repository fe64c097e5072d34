"""People against people, and pairs: which of two responses they prefer.

`Ceiling` holds one annotator against the rest: what a metric could reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trueground.errors import InputError
from trueground.stats.arithmetic.sums import count_product, sum_counts, total
from trueground.stats.bootstrap import Floats, Mask, ratio, varying_interval
from trueground.stats.human.column import Clusters, LabeledScores, check_numbers, number_units
from trueground.stats.human.estimates import (
    Estimated,
    MeasureEstimate,
    OverSets,
    raw_estimates,
)
from trueground.stats.human.measure import LEAST, assemble, units_of
from trueground.stats.human.weighing import Draws, rank_measures, resample, weigh, weigh_once
from trueground.stats.rates import clopper_pearson

CEILING = (
    "auroc",
    "spearman",
    "kendall",
    "balanced_accuracy",
    "matthews",
    "cohen_kappa",
    "krippendorff_alpha",
    "raw_agreement",
)
PREFERENCES = ("sign_agreement", "accuracy", "spearman", "kendall")
_NOBODY = "no item has a label of one annotator and a decision of the others"
_NOBODY_PREFERS = "no pair has a preference of one annotator and one of the others"


@dataclass(frozen=True)
class Ceiling:
    """Each annotator (a column of labels) against the rest, and the mean over annotators that have
    it.

    `counts` has for each the items left out because the rest are split evenly (`tied`), or of
    preferences `n`, `ties` and `metric_ties`.
    """

    annotators: list[dict[str, MeasureEstimate]]
    counts: list[dict[str, int]]
    mean: dict[str, MeasureEstimate]

    @classmethod
    def of_labels(
        cls,
        labels: ArrayLike,
        *,
        positive_above: float = 0.5,
        ordinal: bool = False,
        clusters: Clusters | None = None,
        resamples: int = 2_000,
        seed: int = 0,
        level: float = 0.95,
        workers: int | None = None,
    ) -> Ceiling:
        """What a metric could reach: one annotator of `labels` (n, annotators) against the others.

        NaN is a label that is missing. The annotator's label is taken as the score. The others
        decide by majority of their 0/1 labels (a tie leaves the item out), with `ordinal` by the
        mean of their labels. Raises InputError for another shape and infinite labels.
        """
        table = _as_table(labels, "labels", "items")
        unit, units = number_units(len(table), clusters)
        columns, tied = [], []
        for k in range(table.shape[1]):
            others = table if ordinal else np.where(np.isnan(table), np.nan, table > positive_above)
            reference = _mean_of_others(others, k)
            even = (reference == 0.5) & (not ordinal)
            tied.append({"tied": sum_counts(even & ~np.isnan(table[:, k]))})
            if not ordinal:
                unknown = np.isnan(reference) | even
                reference = np.where(unknown, np.nan, reference > 0.5)
            columns.append(
                LabeledScores(
                    table[:, k],
                    reference,
                    unit,
                    positive_above=positive_above if ordinal else 0.5,
                    ordinal=ordinal,
                    threshold=positive_above,
                )
            )
        drawn = resample(weigh, columns, units, resamples=resamples, seed=seed, workers=workers)
        each = [
            assemble(one, units, draws, level=level, wanted=False, seed=seed)
            for one, draws in zip(columns, drawn, strict=True)
        ]
        nothing = MeasureEstimate(None, None, 0, _NOBODY)
        estimates = [
            {name: one.estimates[name] if one.n else nothing for name in CEILING} for one in each
        ]
        return cls(estimates, tied, _mean_of_annotators(each, CEILING, level, _NOBODY))

    @classmethod
    def of_preferences(
        cls,
        table: ArrayLike,
        *,
        clusters: Clusters | None = None,
        level: float = 0.95,
        **options: Any,
    ) -> Ceiling:
        """What a metric could reach: one annotator of `table` (n, annotators) against the others.

        The annotator is taken as the metric: a tie of theirs counts half in "sign_agreement".
        Pairs that the others find even together, by their mean, are left out. InputError.
        """
        values = _as_table(table, "preferences", "pairs")
        each = [
            preferences(values[:, k], _mean_of_others(values, k), clusters, level=level, **options)
            for k in range(values.shape[1])
        ]
        counts = [{"n": one.n, "ties": one.ties, "metric_ties": one.metric_ties} for one in each]
        mean = _mean_of_annotators(each, PREFERENCES, level, _NOBODY_PREFERS)
        return cls([one.estimates for one in each], counts, mean)

    def raw(self) -> dict[str, Any]:
        """The JSON form, the estimates nested."""
        each = [
            {**counts, "measures": raw_estimates(estimates)}
            for estimates, counts in zip(self.annotators, self.counts, strict=True)
        ]
        return {"annotators": each, "mean": raw_estimates(self.mean)}


@dataclass(frozen=True)
class Preferences(Estimated):
    """`n` pairs with both numbers, of which people find `ties` even, the metric `metric_ties`.

    "sign_agreement" is over the pairs in which people prefer one, a tie of the metric counts half;
    "accuracy" over those in which the metric does too; "spearman" and "kendall" over all, as
    graded.
    """

    ties: int
    metric_ties: int


def preferences(
    differences: ArrayLike,
    preferences: ArrayLike,
    clusters: Clusters | None = None,
    *,
    resamples: int = 2_000,
    seed: int = 0,
    level: float = 0.95,
    workers: int | None = None,
) -> Preferences:
    """The metric of response A less that of B, (n,), against people's preference for A, (n,).

    Both are above 0 where A is better, 0 for a tie, NaN where there is none (the pair is left out).
    Raises InputError as `measure` does.
    """
    metric = np.asarray(differences, np.float64)
    people = np.asarray(preferences, np.float64)
    check_numbers("differences", metric, people)
    unit, units = number_units(len(people), clusters)
    one = LabeledScores(metric, people, unit, positive_above=0.0, ordinal=True)
    scores, labels = one.scores, one.labels
    sides = {"sign_agreement": labels != 0, "accuracy": (labels != 0) & (scores != 0)}
    right = (np.sign(scores) * np.sign(labels) + 1) / 2

    def weigh_pairs(column: LabeledScores, draws: Draws) -> dict[str, Floats]:
        each = draws.take("pairs", draws.floats, column.unit)
        shares = {
            # `right` holds 0, halves and 1: these sums are exact.
            name: ratio(count_product(each, right * on), count_product(each, on))
            for name, on in sides.items()
        }
        if column.scale is None or not column.n:
            return shares
        return shares | rank_measures(column.scale, draws)

    [draws] = resample(weigh_pairs, [one], units, resamples=resamples, seed=seed, workers=workers)
    point = weigh_once(weigh_pairs, one, units)
    every = np.ones(one.n, np.bool_)
    estimates = {
        name: _estimate_preference(one, name, sides.get(name, every), point, draws, level)
        for name in PREFERENCES
    }
    ties, metric_ties = sum_counts(labels == 0), sum_counts(scores == 0)
    own = {name: draws[name] for name in PREFERENCES if name in draws}
    return Preferences(one.n, estimates, own, ties, metric_ties)


def _mean_of_annotators(
    each: Sequence[Estimated], names: Sequence[str], level: float, nobody: str
) -> dict[str, MeasureEstimate]:
    """The mean of each measure over annotators of one set, who share their resamples.

    `nobody` says why there is none where no annotator has an item.
    """
    over = OverSets(names, shift=0)
    for one in each:
        over.add(one)
    means = {}
    for name, mean in over.means(level).items():
        n = sum(one.estimates[name].n for one in each if one.estimates[name].value is not None)
        why = mean.why if any(one.n for one in each) else nobody
        means[name] = MeasureEstimate(mean.value, mean.ci, n, why)
    return means


def _as_table(values: ArrayLike, what: str, rows: str) -> Floats:
    table = np.asarray(values, np.float64)
    if table.ndim != 2 or np.isinf(table).any():
        raise InputError(
            f"{what} of shape {table.shape}; expected ({rows}, annotators), finite or NaN"
        )
    return table


def _mean_of_others(table: Floats, annotator: int) -> Floats:
    """The mean of the other columns, NaN where nobody else gave a value."""
    others = np.delete(table, annotator, axis=1)
    present = ~np.isnan(others)
    return ratio(total(np.where(present, others, 0.0), axis=1), sum_counts(present, axis=1))


def _estimate_preference(
    one: LabeledScores,
    name: str,
    members: Mask,
    point: dict[str, Floats],
    draws: dict[str, Floats],
    level: float,
) -> MeasureEstimate:
    n = sum_counts(members)
    value = float(point[name][0]) if name in point else np.nan
    if np.isnan(value):
        if not one.n:
            why = "no pair has both a difference and a preference"
        elif name in ("spearman", "kendall"):
            same = "differences" if len(one.distinct) == 1 else "preferences"
            why = f"all of the {one.n} {same} are the same"
        else:
            why = f"all of the {one.n} pairs are ties"
        return MeasureEstimate(None, None, n, why)
    if name == "accuracy" and one.alone:
        return MeasureEstimate(value, clopper_pearson(round(value * n), n, level), n)
    units = units_of(one, members)
    if units < LEAST:
        what = "pairs" if one.alone else "groups of pairs"
        why = f"{units} {what} are too few to draw from: an interval takes {LEAST}"
        return MeasureEstimate(value, None, n, why)
    return MeasureEstimate.from_interval(value, n, varying_interval(draws[name], level))
