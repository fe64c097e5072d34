"""Runs with several answers to each question, read as runs of questions.

A question's value is the mean over its scored answers, its status that of the first answer where
none is scored, its hits and units those of all its answers together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from trueground.metrics.column import CODES
from trueground.stats.per_question import per_question
from trueground.types import Status

_FIRST = "#1"
T = TypeVar("T")
Floats = NDArray[np.float64]


def question_id(answer_id: str) -> str:
    """`q7#2` → `q7`."""
    return answer_id.rpartition("#")[0]


def first_answers(lines: Iterable[T]) -> Iterator[T]:
    """What has an id, once for each question and under the question's id."""
    for line in lines:
        told: Any = line
        if told.id.endswith(_FIRST):
            told.id = question_id(told.id)
            yield line


def as_questions(
    questions: NDArray[np.int64], values: Floats, status: NDArray[np.uint8], counts: Floats
) -> tuple[NDArray[np.int64], Floats, NDArray[np.uint8], Floats]:
    """The same four arrays with a row for each question, in the order of their first answers.

    `questions` (items,) are hashes, `values` and `status` have shape (items, metrics), `counts`
    (items, metrics, 2).
    """
    _, first, codes = np.unique(questions, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    codes, first = place[codes], first[order]
    found = per_question(values, codes, len(first), range(values.shape[1]))
    merged = np.where(found.scored > 0, np.uint8(CODES[Status.SCORED]), status[first])
    flat = counts.reshape(len(counts), -1)
    sums = per_question(flat, codes, len(first), range(flat.shape[1]))
    totals = (sums.means * sums.scored).reshape(len(first), *counts.shape[1:])
    return questions[first], found.means, merged.astype(np.uint8), totals
