"""Scores against people's labels: every measure with its interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueground.errors import InputError
from trueground.stats.bootstrap import percentiles
from trueground.stats.human.column import Column, Kind, column
from trueground.stats.human.pictures import confusion_at, histogram, reliability
from trueground.stats.human.reasons import why_no_interval, why_undefined
from trueground.stats.human.resampling import resampled
from trueground.stats.human.scratch import Scratch, Weights
from trueground.stats.human.types import MEASURES, Estimate, Floats, Ints, LabelStats, Measured
from trueground.stats.human.weighing import weigh
from trueground.stats.thresholds import best_threshold

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
    resamples: int = 2_000,
    seed: int = 0,
    level: float = 0.95,
    workers: int | None = None,
) -> dict[str, Measured]:
    """`measure` for several scores of the same items in one go, on the same resamples.

    `scores` maps a name to (n,) numbers; `threshold` and `probability` may differ by name. Faster
    than one call for each, and with the same results.
    """
    given = np.asarray(labels, np.float64)
    unit, units = unit_numbers(len(given), clusters)
    columns, wanted = {}, {}
    for name, one in scores.items():
        see_numbers(name, np.asarray(one, np.float64), given)
        wanted[name] = probability if isinstance(probability, bool) else probability[name]
        columns[name] = column(
            np.asarray(one, np.float64),
            given,
            unit,
            units,
            positive_above=positive_above,
            ordinal=ordinal,
            threshold=threshold[name] if isinstance(threshold, Mapping) else threshold,
            probability=wanted[name],
        )
    drawn = resample_columns(list(columns.values()), units, resamples, seed, workers)
    return {
        name: assemble(one, units, draws, level, wanted[name])
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


def see_numbers(name: str, scores: Floats, labels: Floats) -> None:
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


def assemble(
    one: Column, units: int, draws: dict[str, Floats], level: float, wanted: bool
) -> Measured:
    """The column's values, with intervals from its draws."""
    every = weigh(one, Weights.once(units), Scratch())
    point = {name: float(values[0]) for name, values in every.items()}
    estimates = {
        name: _estimate(name, one, point.get(name, np.nan), draws.get(name), level, wanted)
        for name in MEASURES
    }
    best = None
    if estimates["balanced_accuracy_best"].value is not None:
        best = best_threshold(one.scores, one.positive)
    return Measured(
        n=one.n,
        positives=int(one.positive.sum()),
        level=level,
        threshold=one.threshold,
        estimates=estimates,
        best_threshold=best,
        by_label=[
            _by_label(kind, name, point, draws, level)
            for kind, name in zip(one.kinds, "01", strict=True)
        ],
        by_grade=[
            _by_label(kind, f"grade {number}", point, draws, level)
            for number, kind in enumerate(one.grades)
        ],
        confusion=confusion_at(one, one.threshold),
        confusion_best=confusion_at(one, best),
        reliability=reliability(one),
        histogram=histogram(one, unit_scale=wanted),
        draws={name: draws.get(name, np.empty(0)) for name in MEASURES},
    )


def _estimate(
    name: str, one: Column, value: float, draws: Floats | None, level: float, wanted: bool
) -> Estimate:
    positives = int(one.positive.sum())
    n = {"false_negative_rate": positives, "false_positive_rate": one.n - positives}.get(
        name, one.n
    )
    if not np.isfinite(value):
        return Estimate(None, None, n, why_undefined(name, one, wanted))
    why = why_no_interval(name, one)
    ci = None if why or draws is None else percentiles(draws, level)
    return Estimate(value, ci, n, why)


def _by_label(
    kind: Kind, name: str, point: dict[str, float], draws: dict[str, Floats], level: float
) -> LabelStats:
    found = {}
    units = len(np.unique(kind.unit))
    for key in ("mean", "median", "sd"):
        value = point[f"{name}/{key}"]
        if not np.isfinite(value):
            why = "no item has this label" if not kind.n else "one item has no spread"
            why = why if kind.n < 2 else "the scores are too large"
            found[key] = Estimate(None, None, kind.n, why)
        elif units < 2:
            why = "all its items are one item or one group: nothing to draw from"
            found[key] = Estimate(value, None, kind.n, why)
        else:
            found[key] = Estimate(value, percentiles(draws[f"{name}/{key}"], level), kind.n)
    return LabelStats(kind.label, kind.n, found["mean"], found["median"], found["sd"])
