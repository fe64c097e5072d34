"""Which tasks are done, and in which order: by seed and item, whatever the order of the source.

What `annotate plan` draws from a run is told here too; `studies/label_plan.py` draws it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from trueground.annotation.base import LabelDraw, item_of
from trueground.annotation.given import Given
from trueground.errors import InputError


class LabelStratum(msgspec.Struct):
    """Answers with scores from `low` to `high`: how many, how many of them to label."""

    low: float
    high: float
    answers: int
    labels: int


class PlannedLabels(msgspec.Struct):
    """What was drawn. `alone` is how many labels it would take without the judge.

    `basis` says how it is known what the judge is worth: "pilot", "labelled sets", or "nothing"
    where it is taken to know nothing. `expected` is the half-width that these labels should give.
    """

    file: str
    run: str
    metric: str
    label: str
    half_width: float
    level: float
    expected: float
    labels: int
    alone: int
    answers: int
    unscored: int
    basis: str
    pilot: int
    seed: int
    strata: list[LabelStratum]


def sampled(tasks: Sequence[Given], sample: int | None, seed: int) -> list[Given]:
    """The chosen tasks in their order; None: all. InputError: there are not so many.

    Each tells with which probability it was drawn: with that of an earlier draw, if there was one.
    Answers of several models to the same questions give samples of the same questions.
    """
    if sample is None:
        return list(tasks)
    if sample > len(tasks):
        raise InputError(
            f"a sample of {sample:,} was asked for, but there are {len(tasks):,} tasks"
        )
    ranked = sorted(tasks, key=lambda task: _rank(task, seed, "sample"))
    chosen = {task.id for task in ranked[:sample]}
    return [_drawn(task, sample / len(tasks)) for task in tasks if task.id in chosen]


def _drawn(task: Given, share: float) -> Given:
    before = task.drawn or LabelDraw(1.0)
    return replace(task, drawn=LabelDraw(share * before.probability, before.stratum))


def shuffled(tasks: Sequence[Given], seed: int, annotator: str) -> list[Given]:
    """The tasks in an order of this annotator's own."""
    return sorted(tasks, key=lambda task: _rank(task, seed, f"annotator {annotator}"))


def _rank(task: Given, seed: int, purpose: str) -> tuple[bytes, str]:
    words = f"{seed}/{purpose}/{task.kind.name}/{item_of(task.id)}"
    return hashlib.sha256(words.encode()).digest(), task.id
