"""Answers as numbers: arrays of items and annotators, and intervals over tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueground.annotation.answers import Answer
from trueground.annotation.base import Field
from trueground.annotation.kinds.common import YES_NO
from trueground.stats.agreement import Statistic, bootstrap_agreement

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Ratings:
    """The labels of one field, shape (items, annotators), NaN where there is none.

    `tasks` (items,) is the task of each item, where a task has several items. `whole` are the same
    answers with a whole set as one label, where items are the parts of sets.
    """

    labels: Floats
    tasks: Ints | None = None
    whole: Floats | None = None


def rate(field: Field, tasks: Sequence[Sequence[Answer]], annotators: Sequence[str]) -> Ratings:
    """The labels of a field; annotators that never filled it in have no column.

    A choice is the number of its option, a scale its value. Of `choices` every option of a task is
    an item, chosen (1) or not (0).
    """
    columns = [who for who in annotators if any(_has(field, who, each) for each in tasks)]
    place = {who: number for number, who in enumerate(columns)}
    if field.form == "choices":
        return _parts(field, tasks, place)
    labels = np.full((len(tasks), len(place)), np.nan)
    for row, answers in enumerate(tasks):
        for answer in answers:
            if field.name in answer.values:
                value = answer.values[field.name]
                code = value if field.form == "scale" else field.options.index(value)
                labels[row, place[answer.annotator]] = code
    return Ratings(labels)


def within_one(labels: Floats, *, weights: Floats | None = None) -> float | None:
    """The share of pairs of labels that differ by at most 1: the mean over items with a pair."""
    near, pairs = np.zeros(len(labels)), np.zeros(len(labels))
    for a, b in combinations(labels.T, 2):
        apart = np.abs(a - b)  # NaN where one is missing
        near += apart <= 1
        pairs += ~np.isnan(apart)
    rated = pairs > 0
    w = np.ones(int(rated.sum())) if weights is None else weights[rated]
    total = float(w.sum())
    return float(w @ (near[rated] / pairs[rated])) / total if total else None


def average(field: Field, ratings: Ratings) -> Ratings | None:
    """The mean of each item over its annotators, twice, so that one answer is enough for a mean.

    Of yes and no 1 and 0, of parts chosen and not, of a scale its grade; None of other options,
    which are no numbers.
    """
    labels = ratings.labels
    if field.form == "choice":
        if field.options != YES_NO:
            return None
        labels = 1.0 - labels
    kept = ~np.isnan(labels).all(axis=1)
    means = np.nanmean(labels[kept], axis=1)
    tasks = None if ratings.tasks is None else ratings.tasks[kept]
    return Ratings(np.stack((means, means), axis=1), tasks)


def mean(labels: Floats, *, weights: Floats | None = None) -> float | None:
    """The mean over items of the mean over annotators."""
    return float(np.average(np.nanmean(labels, axis=1), weights=weights)) if len(labels) else None


def interval(
    ratings: Ratings, statistic: Statistic, resamples: int, seed: int, level: float
) -> tuple[float, float] | None:
    """A percentile bootstrap interval over tasks: the items of one task are drawn together."""
    return bootstrap_agreement(
        ratings.labels, statistic, resamples, seed, level, groups=ratings.tasks
    )


def _has(field: Field, annotator: str, answers: Sequence[Answer]) -> bool:
    return any(a.annotator == annotator and field.name in a.values for a in answers)


def _parts(field: Field, tasks: Sequence[Sequence[Answer]], place: dict[str, int]) -> Ratings:
    rows: list[Floats] = []
    of: list[int] = []
    sets: dict[Any, int] = {}
    whole = np.full((len(tasks), len(place)), np.nan)
    for number, answers in enumerate(tasks):
        options = answers[0].given.options(field)
        block = np.full((len(options), len(place)), np.nan)
        for answer in answers:
            if field.name in answer.values:
                chosen, column = answer.values[field.name], place[answer.annotator]
                block[:, column] = [option in chosen for option in options]
                whole[number, column] = sets.setdefault(chosen, len(sets))
        rows.append(block)
        of += [number] * len(options)
    return Ratings(np.concatenate(rows), np.array(of, np.int64), whole)
