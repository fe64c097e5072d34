"""Which tasks are done, and in which order: by seed and item, whatever the order of the source."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from trueground.annotation.base import item_of
from trueground.annotation.given import Given
from trueground.errors import InputError


def sampled(tasks: Sequence[Given], sample: int | None, seed: int) -> list[Given]:
    """The chosen tasks in their order; None: all. InputError: there are not so many.

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
    return [task for task in tasks if task.id in chosen]


def shuffled(tasks: Sequence[Given], seed: int, annotator: str) -> list[Given]:
    """The tasks in an order of this annotator's own."""
    return sorted(tasks, key=lambda task: _rank(task, seed, f"annotator {annotator}"))


def _rank(task: Given, seed: int, purpose: str) -> tuple[bytes, str]:
    words = f"{seed}/{purpose}/{task.kind.name}/{item_of(task.id)}"
    return hashlib.sha256(words.encode()).digest(), task.id
