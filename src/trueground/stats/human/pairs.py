"""Pairwise preferences: does the metric prefer the response that people prefer?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trueground.stats.human.column import Column, column
from trueground.stats.human.confusion import ratio
from trueground.stats.human.intervals import varied
from trueground.stats.human.measuring import Clusters, check_numbers, unit_numbers
from trueground.stats.human.ordinal import rank_measures
from trueground.stats.human.reasons import LEAST, SAME
from trueground.stats.human.resampling import resampled
from trueground.stats.human.scratch import Scratch, Weights
from trueground.stats.human.types import Estimate, Floats, Mask
from trueground.stats.proportions import clopper_pearson

PREFERENCES = ("sign_agreement", "accuracy", "spearman", "kendall")


@dataclass(frozen=True)
class Preferences:
    """`n` pairs with both numbers, of which people find `ties` even, the metric `metric_ties`.

    `estimates`: "sign_agreement" over the pairs in which people prefer one, a tie of the metric
    counts half; "accuracy" over those in which the metric does too; "spearman" and "kendall" of
    the metric's differences with the preferences as they are graded, over all pairs. `draws`: the
    same in each resample, each (resamples,), NaN where undefined.
    """

    n: int
    ties: int
    metric_ties: int
    estimates: dict[str, Estimate]
    draws: dict[str, Floats] = field(repr=False, compare=False)

    def raw(self) -> dict[str, Any]:
        """The JSON form, the estimates nested."""
        measures = {name: one.raw() for name, one in self.estimates.items()}
        return {
            "n": self.n,
            "ties": self.ties,
            "metric_ties": self.metric_ties,
            "measures": measures,
        }


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

    Both are above 0 where A is better, 0 for a tie, NaN where there is none (the pair is left
    out). Items with equal `clusters` are drawn together. Raises InputError as `measure` does.
    """
    metric = np.asarray(differences, np.float64)
    people = np.asarray(preferences, np.float64)
    check_numbers("differences", metric, people)
    unit, units = unit_numbers(len(people), clusters)
    one = column(
        metric,
        people,
        unit,
        positive_above=0.0,
        ordinal=True,
        threshold=None,
        probability=False,
    )
    scores, labels = one.scores, one.labels
    sides = {"sign_agreement": labels != 0, "accuracy": (labels != 0) & (scores != 0)}
    right = (np.sign(scores) * np.sign(labels) + 1) / 2

    def weighed(weights: Weights, scratch: Scratch) -> dict[str, Floats]:
        each = scratch.take("pairs", weights.floats, one.unit)
        found = {name: ratio(each @ (right * on), each @ on) for name, on in sides.items()}
        return found | (rank_measures(one.scale, weights, scratch) if one.n and one.scale else {})

    [draws] = resampled(
        [weighed], units, longest=one.n, resamples=resamples, seed=seed, workers=workers
    )
    point = weighed(Weights.once(units), Scratch())
    every = np.ones(one.n, np.bool_)
    estimates = {
        name: _estimate(one, name, sides.get(name, every), point, draws, level)
        for name in PREFERENCES
    }
    ties, metric_ties = int((labels == 0).sum()), int((scores == 0).sum())
    kept = {name: draws[name] for name in PREFERENCES if name in draws}
    return Preferences(one.n, ties, metric_ties, estimates, kept)


def _estimate(
    one: Column,
    name: str,
    rests_on: Mask,
    point: dict[str, Floats],
    draws: dict[str, Floats],
    level: float,
) -> Estimate:
    n = int(rests_on.sum())
    value = float(point[name][0]) if name in point else np.nan
    if np.isnan(value):
        if not one.n:
            why = "no pair has both a difference and a preference"
        elif name in ("spearman", "kendall"):
            same = "differences" if len(one.distinct) == 1 else "preferences"
            why = f"all of the {one.n} {same} are the same"
        else:
            why = f"all of the {one.n} pairs are ties"
        return Estimate(None, None, n, why)
    if name == "accuracy" and one.alone:
        return Estimate(value, clopper_pearson(round(value * n), n, level), n)
    units = len(np.unique(one.unit[rests_on]))
    if units < LEAST:
        what = "pairs" if one.alone else "groups of pairs"
        why = f"{units} {what} are too few to draw from: an interval takes {LEAST}"
        return Estimate(value, None, n, why)
    ci = varied(draws[name], level)
    return Estimate(value, ci, n, None if ci else SAME)
