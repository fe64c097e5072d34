"""Scores against people's labels: every measure with its interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueground.errors import InputError
from trueground.stats.human.assembling import assemble
from trueground.stats.human.column import Column, column
from trueground.stats.human.resampling import resampled
from trueground.stats.human.types import Floats, Ints, Measured
from trueground.stats.human.weighing import weigh

Clusters = NDArray[Any] | Sequence[Any]


def measure(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    positive_above: float = 0.5,
    ordinal: bool = False,
    clusters: Clusters | None = None,
    threshold: float | None = 0.5,
    probability: bool = True,
    resamples: int = 2_000,
    seed: int = 0,
    level: float = 0.95,
    workers: int | None = None,
) -> Measured:
    """Every one of MEASURES of `scores` (n,) against `labels` (n,), with bootstrap intervals.

    A label is positive above `positive_above`, a verdict where the score is above `threshold`.
    Ranks and α are against the 0/1 label, with `ordinal` against the labels as they are (α then
    of the label and the grade nearest to the score). Items with equal `clusters` are drawn
    together. NaN in either marks an item that is left out; its unit is still drawn. What is
    undefined is None with its reason. Raises InputError for infinite numbers and other shapes.
    """
    values = np.asarray(scores, np.float64)
    return measure_all(
        {"score": values},
        labels,
        positive_above=positive_above,
        ordinal=ordinal,
        clusters=clusters,
        threshold=threshold,
        probability=probability,
        resamples=resamples,
        seed=seed,
        level=level,
        workers=workers,
    )["score"]


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
    """`measure` for several scores of the same items in one go, on the same resamples.

    `scores` maps a name to (n,) numbers; `threshold` and `probability` may differ by name. Faster
    than one call for each, and with the same results. With `at_least` a score at the threshold is a
    verdict of yes too.
    """
    given = np.asarray(labels, np.float64)
    unit, units = unit_numbers(len(given), clusters)
    columns, wanted = {}, {}
    for name, one in scores.items():
        check_numbers(name, np.asarray(one, np.float64), given)
        wanted[name] = probability if isinstance(probability, bool) else probability[name]
        columns[name] = column(
            np.asarray(one, np.float64),
            given,
            unit,
            positive_above=positive_above,
            ordinal=ordinal,
            threshold=threshold[name] if isinstance(threshold, Mapping) else threshold,
            probability=wanted[name],
            at_least=at_least,
        )
    drawn = resample_columns(list(columns.values()), units, resamples, seed, workers)
    return {
        name: assemble(one, units, draws, level=level, wanted=wanted[name], seed=seed)
        for (name, one), draws in zip(columns.items(), drawn, strict=True)
    }


def resample_columns(
    columns: Sequence[Column], units: int, resamples: int, seed: int, workers: int | None = None
) -> list[dict[str, Floats]]:
    """Each measure of each column in each resample; all share their resamples."""
    return resampled(
        [partial(weigh, one) for one in columns],
        units,
        longest=max((one.n for one in columns), default=0),
        resamples=resamples,
        seed=seed,
        workers=workers,
    )


def unit_numbers(n: int, clusters: Clusters | None) -> tuple[Ints, int]:
    """(the number of each item's unit, how many units there are). InputError for another length."""
    if clusters is None:
        return np.arange(n), n
    if len(clusters) != n:
        raise InputError(f"{len(clusters)} clusters for {n} labels; expected one for each")
    _, unit = np.unique(np.asarray(clusters), return_inverse=True)
    return unit.reshape(-1).astype(np.int64), int(unit.max(initial=-1)) + 1


def check_numbers(name: str, scores: Floats, labels: Floats) -> None:
    """InputError where there is not one score for each label, or where one is infinite."""
    if scores.ndim != 1 or scores.shape != labels.shape:
        raise InputError(
            f"{name}: scores of shape {scores.shape}, labels of shape {labels.shape}; "
            "expected one number for each item"
        )
    for kind, values in (("scores", scores), ("labels", labels)):
        if np.isinf(values).any():
            bad = int(np.isinf(values).sum())
            raise InputError(
                f"{name}: {bad} of {len(values)} {kind} are infinite; pass NaN to leave them out"
            )
