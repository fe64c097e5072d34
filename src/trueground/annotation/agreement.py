"""`trueground agreement`: how well annotators agree, field by field, with intervals over tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import msgspec
import numpy as np

from trueground.annotation.answers import Answer, Answers
from trueground.annotation.base import Field, TaskKind
from trueground.annotation.hardest import Hard, hardest
from trueground.annotation.importing import Person, people
from trueground.annotation.ratings import Ratings, average, interval, mean, rate, within_one
from trueground.stats.agreement import (
    Statistic,
    cohen,
    fleiss_kappa,
    krippendorff_alpha,
    raw_agreement,
)


class AgreementEstimate(msgspec.Struct):
    """A statistic with its interval; both None where it is undefined."""

    value: float | None
    ci: tuple[float, float] | None


class FieldAgreement(msgspec.Struct):
    """How well annotators agree in one field.

    `tasks` are those that two or more have answered. `unit` is "task", or "part" where each option
    of a set (a fact, a context) counts as a yes-or-no label of its own: `same_set` is then the
    share of pairs of annotators that name the very same parts. `within_one` is of scales: the share
    of pairs whose labels differ by at most 1. `mean` is what all annotators say on average, over
    all tasks: the share of yes, of parts chosen, or the grade (Li et al. 2024, table 2).
    """

    measure: str
    unit: str
    tasks: int
    mean: AgreementEstimate | None
    agreement: AgreementEstimate
    cohen_kappa: AgreementEstimate | None
    fleiss_kappa: AgreementEstimate
    krippendorff_alpha: AgreementEstimate
    within_one: AgreementEstimate | None
    same_set: AgreementEstimate | None


class KindAgreement(msgspec.Struct):
    """How well annotators agree in one kind of task."""

    tasks: int
    answered_by_two: int
    annotators: dict[str, Person]
    fields: dict[str, FieldAgreement]
    hardest: list[Hard]


class Agreement(msgspec.Struct):
    """Agreement by kind of task, with the settings of the intervals."""

    kinds: dict[str, KindAgreement]
    resamples: int
    seed: int
    level: float
    edited: list[str]


def measure_kind(
    kind: TaskKind,
    answers: Answers,
    measure: Callable[[Ratings, Statistic], AgreementEstimate],
    hard: int,
) -> KindAgreement:
    """Agreement in one kind of task, with the `hard` hardest tasks."""
    tasks = {id_: each for (of, id_), each in sorted(answers.tasks.items()) if of == kind.name}
    return KindAgreement(
        tasks=len(tasks),
        answered_by_two=sum(len(each) > 1 for each in tasks.values()),
        annotators=people(answers, kind.name),
        fields=_fields(kind, list(tasks.values()), answers.annotators, measure),
        hardest=hardest(kind, tasks, hard),
    )


def _fields(
    kind: TaskKind,
    tasks: Sequence[Sequence[Answer]],
    annotators: Sequence[str],
    estimate: Callable[[Ratings, Statistic], AgreementEstimate],
) -> dict[str, FieldAgreement]:
    return {
        field.name: _field(field, rate(field, tasks, annotators), estimate)
        for field in kind.fields
        if field.measure is not None
    }


def _field(
    field: Field, ratings: Ratings, estimate: Callable[[Ratings, Statistic], AgreementEstimate]
) -> FieldAgreement:
    labels, whole = ratings.labels, ratings.whole
    means = average(field, ratings)
    of_tasks = labels if whole is None else whole
    measure = field.measure if field.measure in ("ordinal", "interval") else "nominal"
    alpha = partial(krippendorff_alpha, measure=measure)
    return FieldAgreement(
        measure=measure,
        unit="task" if whole is None else "part",
        tasks=int(np.count_nonzero((~np.isnan(of_tasks)).sum(axis=1) >= 2)),
        mean=None if means is None else estimate(means, mean),
        agreement=estimate(ratings, raw_agreement),
        cohen_kappa=estimate(ratings, cohen) if labels.shape[1] == 2 else None,
        fleiss_kappa=estimate(ratings, fleiss_kappa),
        krippendorff_alpha=estimate(ratings, alpha),
        within_one=estimate(ratings, within_one) if field.form == "scale" else None,
        same_set=None if whole is None else estimate(Ratings(whole), raw_agreement),
    )


def estimate(
    ratings: Ratings, statistic: Statistic, *, resamples: int, seed: int, level: float
) -> AgreementEstimate:
    """A statistic of the ratings with its interval over tasks."""
    value = statistic(ratings.labels)
    if value is None:
        return AgreementEstimate(None, None)
    return AgreementEstimate(value, interval(ratings, statistic, resamples, seed, level))
