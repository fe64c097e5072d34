"""Runs with several answers to each question, read as runs of questions.

A question's value is the mean over its scored answers, its status that of the first answer where
none is scored, its hits and units those of all its answers together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import compress
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from trueground.metrics.column import CODES
from trueground.stats.per_question import per_question
from trueground.types import Status

T = TypeVar("T")
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Questions:
    """Which question each answer of a run is of, rows as in items.jsonl.

    `of` is how that is told (`evaluate.questioned`). `ids` (answers,) and `questions` (answers,)
    are hashes; `names` has the text of each question's name, in the order of their first answers.
    """

    of: str
    ids: NDArray[np.int64]
    questions: NDArray[np.int64]
    names: tuple[str, ...]

    @property
    def first(self) -> NDArray[np.bool_]:
        """Which answers are the first to their question, shape (answers,)."""
        found = np.zeros(len(self.questions), np.bool_)
        found[np.unique(self.questions, return_index=True)[1]] = True
        return found

    @property
    def answers(self) -> tuple[int, int]:
        """The least and the largest number of answers to a question."""
        counts = np.unique(self.questions, return_counts=True)[1]
        return (int(counts.min()), int(counts.max())) if len(counts) else (0, 0)

    def first_answers(self, lines: Iterable[T]) -> Iterator[tuple[str, T]]:
        """Of what has a line for each answer, the first of each question, behind its name."""
        return zip(self.names, compress(lines, self.first.tolist()), strict=False)


def in_order(questions: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The row of each question's first answer, in order, and the number of each answer's question.

    `questions` (answers,) holds equal numbers for answers to one question.
    """
    _, first, codes = np.unique(questions, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return first[order], place[codes]


def as_questions(
    questions: NDArray[np.int64], values: Floats, status: NDArray[np.uint8], counts: Floats
) -> tuple[NDArray[np.int64], Floats, NDArray[np.uint8], Floats]:
    """The same four arrays with a row for each question, in the order of their first answers.

    `questions` (items,) are hashes, `values` and `status` have shape (items, metrics), `counts`
    (items, metrics, 2).
    """
    first, codes = in_order(questions)
    found = per_question(values, codes, len(first), range(values.shape[1]))
    merged = np.where(found.scored > 0, np.uint8(CODES[Status.SCORED]), status[first])
    flat = counts.reshape(len(counts), -1)
    sums = per_question(flat, codes, len(first), range(flat.shape[1]))
    totals = (sums.means * sums.scored).reshape(len(first), *counts.shape[1:])
    return questions[first], found.means, merged.astype(np.uint8), totals
