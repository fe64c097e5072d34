"""The items of a finished run that people call correct although a metric is low.

Source: Adlakha et al. 2023, section 4.2 (an F1 of at most 0.3, correct by people's labels);
any other metric, threshold and label is taken in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np

from trueground.errors import InputError, UsageError
from trueground.metrics.registry import higher_is_better
from trueground.runs.directory import RECORDS
from trueground.studies.finished import (
    FinishedRun,
    hash_texts,
    open_run,
    read_records,
)
from trueground.studies.labelled.rule import TIED, LabelRule, Told
from trueground.studies.scores import Scores, read_scores
from trueground.types import Record, Turn

METRIC, LABEL, MODEL, OVERLAP = "f1", "correct", "llm_correctness", "recall"
AT_MOST = 0.3


class Kept(msgspec.Struct):
    """What of a record is sorted."""

    id: str
    response: str
    question: str | None = None
    history: list[Turn] | None = None
    references: list[str] | None = None
    human: dict[str, float] | None = None
    group: str | None = None


@dataclass(frozen=True)
class Low:
    """One correct item with a low score; `correct_by` says who found it correct."""

    record: Kept
    score: float
    f1: float | None
    recall: float | None
    correct_by: str


@dataclass(frozen=True)
class Chosen:
    """The items of a run that are to be sorted, out of `n`; `task` is its benchmark, if any.

    `metric` is the run's name of the metric. `people` are the items that have both its score and
    the label: scores, whether the label is positive, and hashes of their groups.
    """

    items: list[Low]
    n: int
    task: str | None
    metric: str
    people: People


@dataclass
class People:
    """Scores and labels side by side; without a group NO_HASH."""

    scores: list[float] = field(default_factory=list)
    positive: list[bool] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)


def choose(
    path: Path, *, metric: str = METRIC, at_most: float = AT_MOST, label: str = LABEL
) -> Chosen:
    """Read a run: items whose `metric` is at most so much, that people call `label`.

    Raises InputError: no finished run, no records, not that metric, nothing that tells which items
    are correct. UsageError: a metric of which less is better, or several of that name.
    """
    run = open_run(path)
    key = _key(run, metric) or metric
    if higher_is_better(key) is False:
        raise UsageError(f"{key}: lower is better there; choose a metric of which more is better")
    if not run.has_records:
        raise InputError(
            f"{path / RECORDS}: not found, and the error categories are read from the records; "
            "score again without --no-records"
        )
    others = (METRIC, OVERLAP, MODEL)
    found = {name: _key(run, name, needed=False) for name in others}
    columns = dict.fromkeys([key, *(k for k in found.values() if k)])
    scores = read_scores(run, list(columns))
    reader = _Reader(key, at_most, label, found, list(columns))
    items = list(reader.low(run, scores))
    if not reader.decided and len(scores.ids):
        raise InputError(
            f"{path}: nothing tells which items are {label}: no record has human.{label}"
            + (", and the run has no recall. Score with --metrics f1,recall" if label == LABEL
               else "; choose another --label")
        )  # fmt: skip
    return Chosen(items, len(scores.ids), run.task, key, reader.people)


def _key(run: FinishedRun, name: str, needed: bool = True) -> str | None:
    """The metric as the run names it: with that name, or the only one with options behind it.

    None where one that is not needed is not there, or cannot be told from another.
    """
    near = [key for key in run.signatures if key.partition("(")[0] == name]
    if name in run.signatures:
        return name
    if len(near) > 1 and needed:
        raise UsageError(
            f"{run.path} has {len(near)} metrics of the name {name}: {', '.join(near)}; name one "
            "of them with --metric"
        )
    if len(near) == 1 or not needed:
        return near[0] if len(near) == 1 else None
    raise InputError(
        f"{run.path} has no {name}; it has {', '.join(run.signatures) or 'no metrics'}. Score with "
        f"--metrics {name},recall (and others), or run the benchmark with them"
    )


class _Reader:
    """Records and scores side by side: the low ones that are correct, and what people said."""

    def __init__(
        self,
        key: str,
        at_most: float,
        label: str,
        found: Mapping[str, str | None],
        columns: Sequence[str],
    ) -> None:
        self._key, self._at_most, self._label = key, at_most, label
        self._found, self._columns = found, columns
        self._rule = LabelRule(label)
        self.people = People()
        self.decided = False

    def low(self, run: FinishedRun, scores: Scores) -> Iterator[Low]:
        """Those that come out, in order. InputError: records that are not those of the items."""
        row = -1
        for row, record in enumerate(read_records(run, Kept)):
            if row >= len(scores.ids) or hash_texts([record.id])[0] != scores.ids[row]:
                raise _unlike(run.path / RECORDS)
            values = {
                name: None if np.isnan(value) else float(value)
                for name, value in zip(self._columns, scores.values[row], strict=True)
            }
            f1, recall, judged = (
                values[key] if (key := self._found[name]) else None
                for name in (METRIC, OVERLAP, MODEL)
            )
            score = values[self._key]
            by = self._correct_by(record, score, recall, judged)
            if score is not None and score <= self._at_most and by:
                yield Low(record, score, f1, recall, by)
        if row + 1 != len(scores.ids):
            raise _unlike(run.path / RECORDS)

    def _correct_by(
        self, record: Kept, score: float | None, recall: float | None, judged: float | None
    ) -> str | None:
        """Who says that the item is correct; None where the first that can say does not."""
        told = self._rule.read(Record(id=record.id, response="", human=record.human))
        if isinstance(told, Told):
            self.decided = True
            positive = self._rule.is_positive(told.value)
            if score is not None:
                self.people.scores.append(score)
                self.people.positive.append(positive)
                self.people.groups.append(int(hash_texts([record.group])[0]))
            return f"human.{self._label}" if positive else None
        if told == TIED or self._label != LABEL:
            return None
        for value, who in ((judged, MODEL), (recall, OVERLAP)):
            if value is not None:
                self.decided = True
                return who if value == 1 else None
        self.decided |= self._found[OVERLAP] is not None
        return None


def _unlike(place: Path) -> InputError:
    return InputError(f"{place}: the ids are not those of the items beside it; run again")
