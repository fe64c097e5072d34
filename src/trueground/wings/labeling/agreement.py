"""`trueground agreement`: how well annotators agree, field by field, with intervals over tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from trueground.stats import LabelAgreement, mean, sum_counts, total
from trueground.wings.labeling.answers import Annotator, Answer, Answers, compute_median
from trueground.wings.labeling.kinds import KINDS, YES_NO, Field, TaskKind

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class AgreementEstimate(msgspec.Struct):
    """A statistic with its interval; both None where it is undefined."""

    value: float | None
    ci: tuple[float, float] | None


class FieldAgreement(msgspec.Struct):
    """How well annotators agree in one field.

    `tasks` are those that two or more have answered. `unit` is "task", or "part" where each option
    of a set (a fact, a context) counts as a yes-or-no label of its own, or "word" where each word
    of a text is marked or not: `same_set` is then the share of pairs of annotators that name the
    very same parts, or mark the very same words alike. `within_one` is of scales: the share of
    pairs whose labels differ by at most 1. `mean` is what all annotators say on average, over all
    tasks: the share of yes, of parts chosen, of words marked, or the grade (Li et al. 2024, table
    2).
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


class HardTask(msgspec.Struct):
    """One task: how far annotators disagree, from 0 to 1, and who said what where they do.

    `seconds` is the median of the annotators; `comments` are what they wrote.
    """

    id: str
    disagreement: float
    seconds: float | None
    answers: dict[str, dict[str, Any]]
    comments: dict[str, str]


class KindAgreement(msgspec.Struct):
    """How well annotators agree in one kind of task."""

    tasks: int
    answered_by_two: int
    annotators: dict[str, Annotator]
    fields: dict[str, FieldAgreement]
    hardest: list[HardTask]


class Agreement(msgspec.Struct):
    """Agreement by kind of task, with the settings of the intervals."""

    kinds: dict[str, KindAgreement]
    resamples: int
    seed: int
    level: float
    edited: list[str]


class PairAgreement(msgspec.Struct):
    """How well two annotators agree in one field, over the `tasks` that both have answered."""

    annotators: tuple[str, str]
    tasks: int
    agreement: AgreementEstimate
    cohen_kappa: AgreementEstimate


class Intervals(NamedTuple):
    """How intervals are estimated: bootstrap samples, their seed, and the confidence level."""

    resamples: int
    seed: int
    level: float


class Ratings(NamedTuple):
    """The labels of one field, shape (items, annotators), NaN where there is none.

    `tasks` (items,) is the task of each item, where a task has several items; those of one task are
    drawn together. `sets` are the same answers with a whole set as one label, where items are the
    parts of sets, or the words of a text.
    """

    labels: Floats
    tasks: Ints | None = None
    sets: Floats | None = None

    def agreement(self, intervals: Intervals) -> LabelAgreement:
        """Return the agreement of the annotators."""
        return LabelAgreement(self.labels, self.tasks, *intervals)


def measure_answers(
    answers: Answers, hardest: int, *, resamples: int, seed: int, level: float
) -> Agreement:
    """Agreement in every kind of task that there are answers to, each with its hardest tasks."""
    kinds = {
        name: measure_kind(kind, answers, hardest, resamples=resamples, seed=seed, level=level)
        for name, kind in KINDS.items()
        if any(of == name for of, _ in answers.tasks)
    }
    return Agreement(kinds, resamples, seed, level, answers.edited[:20])


def measure_pairs(
    kind: TaskKind, answers: Answers, *, resamples: int, seed: int, level: float
) -> dict[str, list[PairAgreement]]:
    """Agreement of every two annotators of a kind who have a task in common, by field."""
    tasks = list(_tasks_of(kind, answers).values())
    intervals = Intervals(resamples, seed, level)
    found: dict[str, list[PairAgreement]] = {}
    for field in (field for field in kind.fields if field.measure):
        who = _who_filled(field, tasks, answers.annotators)
        whole = _rate(field, tasks, answers.annotators)
        for a, b in combinations(range(len(who)), 2):
            own = whole.labels[:, [a, b]]
            both = np.asarray(~np.isnan(own).any(axis=1))
            if both.any():
                of = None if whole.tasks is None else whole.tasks[both]
                agreement = Ratings(own[both], of).agreement(intervals)
                pair = PairAgreement(
                    (who[a], who[b]),
                    sum_counts(both) if of is None else len(np.unique(of)),
                    AgreementEstimate(*agreement.raw()),
                    AgreementEstimate(*agreement.cohen()),
                )
                found.setdefault(field.name, []).append(pair)
    return found


def measure_kind(
    kind: TaskKind, answers: Answers, hard: int, *, resamples: int, seed: int, level: float
) -> KindAgreement:
    """Agreement in one kind of task, with the `hard` hardest tasks."""
    tasks = _tasks_of(kind, answers)
    intervals = Intervals(resamples, seed, level)

    return KindAgreement(
        tasks=len(tasks),
        answered_by_two=sum(len(each) > 1 for each in tasks.values()),
        annotators=answers.count_work(kind.name),
        fields={
            field.name: _measure_field(
                field, _rate(field, list(tasks.values()), answers.annotators), intervals
            )
            for field in kind.fields
            if field.measure
        },
        hardest=find_hardest(kind, tasks, hard),
    )


def _tasks_of(kind: TaskKind, answers: Answers) -> dict[str, list[Answer]]:
    """The answers of a kind by task, in the order of their ids."""
    return {id_: each for (of, id_), each in sorted(answers.tasks.items()) if of == kind.name}


def within_one(labels: Floats, *, weights: Floats | None = None) -> float | None:
    """The share of pairs of labels that differ by at most 1: the mean over items with a pair."""
    near, pairs = np.zeros(len(labels)), np.zeros(len(labels))
    for a, b in combinations(labels.T, 2):
        apart = np.abs(a - b)  # NaN where one is missing
        near += apart <= 1
        pairs += ~np.isnan(apart)
    rated = pairs > 0
    w = np.ones(sum_counts(rated)) if weights is None else weights[rated]
    weight = total(w)
    return total(w * (near[rated] / pairs[rated])) / weight if weight else None


def _mean_of_first(labels: Floats, *, weights: Floats | None = None) -> float | None:
    if not len(labels):
        return None
    first = labels[:, 0]
    return mean(first) if weights is None else total(first * weights) / total(weights)


def _measure_field(field: Field, ratings: Ratings, intervals: Intervals) -> FieldAgreement:
    labels, sets = ratings.labels, ratings.sets
    agreement = ratings.agreement(intervals)
    average = kappa = near = same_set = None
    if field.form != "choice" or field.options == YES_NO:  # other options are no numbers
        rated = ~np.isnan(labels).all(axis=1)
        numbers = 1.0 - labels[rated] if field.form == "choice" else labels[rated]
        if field.unit == "word":  # marked, whatever the type
            numbers = np.where(numbers > 0, 1.0, numbers)
        present = ~np.isnan(numbers)
        sums = total(np.where(present, numbers, 0.0), axis=1)
        means = sums / sum_counts(present, axis=1)
        tasks = None if ratings.tasks is None else ratings.tasks[rated]
        # Twice: one answer is enough for a mean, and intervals pass over items with one label.
        twice = Ratings(np.stack((means, means), axis=1), tasks).agreement(intervals)
        average = AgreementEstimate(*twice.estimate(_mean_of_first))
    if labels.shape[1] == 2:
        kappa = AgreementEstimate(*agreement.cohen())
    if field.form == "scale":
        near = AgreementEstimate(*agreement.estimate(within_one))
    if sets is not None:
        same_set = AgreementEstimate(*Ratings(sets).agreement(intervals).raw())
    by_task = labels if sets is None else sets
    measure = field.measure or "nominal"
    return FieldAgreement(
        measure=measure,
        unit=field.unit,
        tasks=sum_counts(sum_counts(~np.isnan(by_task), axis=1) >= 2),
        mean=average,
        agreement=AgreementEstimate(*agreement.raw()),
        cohen_kappa=kappa,
        fleiss_kappa=AgreementEstimate(*agreement.fleiss()),
        krippendorff_alpha=AgreementEstimate(*agreement.krippendorff(measure)),
        within_one=near,
        same_set=same_set,
    )


def _who_filled(
    field: Field, tasks: Sequence[Sequence[Answer]], annotators: Sequence[str]
) -> list[str]:
    """The annotators who filled a field in, in their order."""
    filled = {a.annotator for each in tasks for a in each if field.name in a.values}
    return [who for who in annotators if who in filled]


def _rate(field: Field, tasks: Sequence[Sequence[Answer]], annotators: Sequence[str]) -> Ratings:
    """The labels of a field; annotators that never filled it in have no column.

    A choice is the number of its option, a scale its value. Of `choices` every option of a task is
    an item, chosen (1) or not (0); of spans every word, with the number of its type.
    """
    column = {who: at for at, who in enumerate(_who_filled(field, tasks, annotators))}
    rows, of = list[Floats](), list[int]()
    numbers: dict[Sequence[float], int] = {}  # of whole sets
    sets = np.full((len(tasks), len(column)), np.nan)
    for number, answers in enumerate(tasks):
        rated = {
            a.annotator: tuple(_rate_answer(field, a)) for a in answers if field.name in a.values
        }
        block = np.full((max(map(len, rated.values()), default=0), len(column)), np.nan)
        for who, labels in rated.items():
            block[:, column[who]] = labels
            sets[number, column[who]] = numbers.setdefault(labels, len(numbers))
        rows.append(block)
        of += [number] * len(block)
    items = np.concatenate(rows)
    if field.unit == "task":
        return Ratings(items)
    return Ratings(items, np.array(of, np.int64), sets)


def _rate_answer(field: Field, answer: Answer) -> list[float]:
    task = answer.task
    return field.rate(task.options(field), answer.values[field.name], task.text(field))


def find_hardest(
    kind: TaskKind, tasks: Mapping[str, Sequence[Answer]], most: int | None
) -> list[HardTask]:
    """The `most` hardest tasks on which annotators do not agree: most disagreement, then longest.

    None: all of them.

    Disagreement is the mean over the fields that are counted of the share of pairs of annotators
    who differ; of two sets, or of marked words, the share of their values that only one has.
    """
    found = []
    for id_, answers in tasks.items():
        shares = {}
        for field in (field for field in kind.fields if field.measure):
            rated = [_rate_answer(field, a) for a in answers if field.name in a.values]
            apart = []
            for one, other in combinations(rated, 2):
                if one == other or field.unit == "task":
                    apart.append(float(one != other))
                else:
                    chosen, named = (
                        {place for place in enumerate(each) if place[1]} for each in (one, other)
                    )
                    apart.append(len(chosen ^ named) / len(chosen | named))
            if apart:
                shares[field.name] = mean(apart)
        if not any(shares.values()):
            continue
        hard = HardTask(
            id=id_,
            disagreement=mean([*shares.values()]),
            seconds=compute_median(answer.seconds for answer in answers),
            answers={
                a.annotator: {n: a.values[n] for n in shares if shares[n] and n in a.values}
                for a in answers
            },
            comments={a.annotator: a.comment for a in answers if a.comment},
        )
        found.append(hard)
    found.sort(key=lambda hard: (-hard.disagreement, -(hard.seconds or 0.0), hard.id))
    return found[:most]
