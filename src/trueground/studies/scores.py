"""The scores of a finished run, as columns of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from trueground.errors import InputError
from trueground.metrics.column import CODES
from trueground.runs.directory import ITEMS
from trueground.studies.reading import FinishedRun, decoded, hashes, other_records
from trueground.studies.repeated import as_questions
from trueground.types import Status

_BLOCK = 4_096


class _Told(msgspec.Struct):
    counts: Any = None


class _Item(msgspec.Struct):
    id: str
    scores: dict[str, float | None]
    status: dict[str, Status] = {}
    evidence: dict[str, _Told] = {}

    def counts(self, metric: str) -> tuple[float, float]:
        """Hits and units of a metric that counts; NaN where the item has none."""
        told = self.evidence.get(metric)
        if told is not None and isinstance(told.counts, list) and len(told.counts) == 2:
            hits, units = told.counts
            if isinstance(hits, int | float) and isinstance(units, int | float):
                return float(hits), float(units)
        return np.nan, np.nan


@dataclass(frozen=True)
class Scores:
    """The numbers of a run, rows in the order of items.jsonl.

    `ids` (n,) are hashes; `values` (n, metrics) holds NaN where `status` (n, metrics) is not
    `scored`; `counts` (n, metrics, 2) holds hits and units, NaN where an item tells none.
    """

    ids: NDArray[np.int64]
    values: NDArray[np.float64]
    status: NDArray[np.uint8]
    counts: NDArray[np.float64]

    def of(self, columns: Sequence[int]) -> Scores:
        """These metrics only."""
        return Scores(
            self.ids, self.values[:, columns], self.status[:, columns], self.counts[:, columns]
        )


def read_scores(run: FinishedRun, metrics: Sequence[str]) -> Scores:
    """The scores of these metrics. InputError: a line that is no item, an id that comes twice."""
    ids, values, status, counts = [], [], [], []
    with (run.path / ITEMS).open("rb") as lines:
        items = decoded(lines, _Item, run.path / ITEMS)
        while block := list(islice(items, _BLOCK)):
            ids.append(hashes(item.id for item in block))
            found = [[item.scores.get(metric) for metric in metrics] for item in block]
            values.append(np.array(found, np.float64))
            codes = [
                [CODES[item.status.get(metric, Status.NOT_APPLICABLE)] for metric in metrics]
                for item in block
            ]
            status.append(np.array(codes, np.uint8))
            told = [[item.counts(metric) for metric in metrics] for item in block]
            counts.append(np.array(told, np.float64))
    width = len(metrics)
    scores = Scores(
        np.concatenate([np.empty(0, np.int64), *ids]),
        np.concatenate([np.empty((0, width)), *values]),
        np.concatenate([np.empty((0, width), np.uint8), *status]),
        np.concatenate([np.empty((0, width, 2)), *counts]),
    )
    if len(np.unique(scores.ids)) < len(scores.ids):
        raise InputError(f"{run.path / ITEMS}: an id comes twice; expected unique ids. Run again")
    if run.asked is None:
        return scores
    if not np.array_equal(scores.ids, run.asked.ids):
        raise other_records(run)
    return Scores(*as_questions(run.asked.questions, scores.values, scores.status, scores.counts))
