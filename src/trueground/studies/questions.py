"""A finished run by its questions: repeated answers become their mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trueground.stats.per_question import PerQuestion, per_question
from trueground.studies.asked import with_questions
from trueground.studies.contents import read_contents
from trueground.studies.reading import NO_HASH, FinishedRun
from trueground.studies.repeated import in_order
from trueground.studies.scores import read_scores


@dataclass(frozen=True)
class ByQuestion:
    """What a run says of each question: `ids` (questions,) are hashes, `answers` the numbers.

    `clusters` (questions,) are equal for questions of one group, None where none is told.
    """

    ids: NDArray[np.int64]
    answers: PerQuestion
    clusters: NDArray[np.int64] | None


def by_question(run: FinishedRun, metrics: tuple[str, ...]) -> ByQuestion:
    """The metrics of a run, questions in the order in which they came. Raises InputError."""
    scores = read_scores(run, metrics)
    (known,) = with_questions([run])
    ids = scores.ids if known.asked is None else known.asked.questions
    first, codes = in_order(ids)
    answers = per_question(scores.values, codes, len(first), range(len(metrics)))
    return ByQuestion(ids[first], answers, _clusters(run, scores.ids, ids, first))


def _clusters(
    run: FinishedRun, items: NDArray[np.int64], ids: NDArray[np.int64], first: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    """Groups of the questions; a question without one is its own."""
    if not run.has_records:
        return None
    groups = read_contents(run, items, ()).groups
    groups = np.where(groups == NO_HASH, ids, groups)[first]
    return groups if len(np.unique(groups)) < len(groups) else None
