"""The ceiling: how well one annotator agrees with the rest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trueground.errors import InputError
from trueground.stats.human.assembling import assemble
from trueground.stats.human.column import Column, column
from trueground.stats.human.mean_of_sets import mean_of_columns
from trueground.stats.human.measuring import (
    Clusters,
    resample_columns,
    unit_numbers,
)
from trueground.stats.human.types import Estimate, Floats, Ints, Measured

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

_NOBODY = "no item has a label of one annotator and a decision of the others"


@dataclass(frozen=True)
class Ceiling:
    """Each annotator (a column of labels) against the rest, and the mean over annotators.

    `tied` counts, for each, the items left out because the rest are split evenly. The mean is over
    the annotators that have the measure; its n counts their items together.
    """

    annotators: list[dict[str, Estimate]]
    tied: list[int]
    mean: dict[str, Estimate]

    def raw(self) -> dict[str, Any]:
        """The JSON form, the estimates nested."""
        each = [
            {"tied": tied, "measures": {name: one.raw() for name, one in found.items()}}
            for found, tied in zip(self.annotators, self.tied, strict=True)
        ]
        return {"annotators": each, "mean": {name: one.raw() for name, one in self.mean.items()}}


def ceiling(
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

    NaN is a label that is missing. The annotator's label stands for the score. The others decide
    by majority of their 0/1 labels (a tie leaves the item out), with `ordinal` by the mean of their
    labels. Raises InputError for another shape and infinite labels.
    """
    given = np.asarray(labels, np.float64)
    if given.ndim != 2 or np.isinf(given).any():
        raise InputError(
            f"labels of shape {given.shape}; expected (items, annotators), finite or NaN"
        )
    unit, units = unit_numbers(len(given), clusters)
    rests = [_rest(given, k, positive_above, ordinal) for k in range(given.shape[1])]
    tied = [split for _, split in rests]
    columns = [
        _column(given[:, k], reference, unit, positive_above, ordinal)
        for k, (reference, _) in enumerate(rests)
    ]
    drawn = resample_columns(columns, units, resamples, seed, workers)
    found = [
        assemble(one, units, draws, level=level, wanted=False, seed=seed)
        for one, draws in zip(columns, drawn, strict=True)
    ]
    mean = mean_of_columns(found, CEILING, level)
    if not any(one.n for one in found):
        mean = {name: replace(one, why=_NOBODY) for name, one in mean.items()}
    return Ceiling([_chosen(one) for one in found], tied, mean)


def _rest(
    labels: Floats, annotator: int, positive_above: float, ordinal: bool
) -> tuple[Floats, int]:
    """What the others say of each item, NaN where they say nothing or are split; how many are."""
    others = np.delete(labels, annotator, axis=1)
    given = ~np.isnan(others)
    count = given.sum(axis=1)
    values = others if ordinal else (others > positive_above).astype(np.float64)
    total = np.where(given, values, 0.0).sum(axis=1)
    mean = np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0)
    if ordinal:
        return mean, 0
    even = mean == 0.5
    majority = np.where(np.isnan(mean) | even, np.nan, mean > 0.5)
    return majority, int((even & ~np.isnan(labels[:, annotator])).sum())


def _column(
    own: Floats, reference: Floats, unit: Ints, positive_above: float, ordinal: bool
) -> Column:
    return column(
        own,
        reference,
        unit,
        positive_above=positive_above if ordinal else 0.5,
        ordinal=ordinal,
        threshold=positive_above,
        probability=False,
    )


def _chosen(found: Measured) -> dict[str, Estimate]:
    if found.n:
        return {name: found.estimates[name] for name in CEILING}
    return {name: Estimate(None, None, 0, _NOBODY) for name in CEILING}
