"""What a finished run tells of its items, in columns: scores, and hashes of what they are about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from trueground.errors import InputError, UsageError
from trueground.metrics.column import CODES
from trueground.metrics.registry import parse_spec
from trueground.plugins import split_key
from trueground.runs.directory import ITEMS
from trueground.stats.repeats import PerQuestion, per_question
from trueground.studies.finished import (
    NO_HASH,
    FinishedRun,
    Hashes,
    decode_lines,
    hash_texts,
    read_records,
    with_questions,
    wrong_records,
)
from trueground.types import Record, Status

# What an answer is made of differs between runs; all other fields say what it is measured against.
_OF_ANSWERS = {"id", "question", "response", "response_facts", "model", "group", "human", "meta"}
FIELDS = tuple(name for name in Record.__struct_fields__ if name not in _OF_ANSWERS)
_BLOCK = 4_096
T = TypeVar("T")


class _EvidenceCounts(msgspec.Struct):
    counts: Any = None


class _ItemScores(msgspec.Struct):
    id: str
    scores: dict[str, float | None]
    status: dict[str, Status] = {}
    evidence: dict[str, _EvidenceCounts] = {}

    def counts(self, metric: str) -> tuple[float, float]:
        """Hits and units of a metric that counts; NaN where the item has none."""
        evidence = self.evidence.get(metric)
        if evidence is not None and isinstance(evidence.counts, list) and len(evidence.counts) == 2:
            hits, units = evidence.counts
            if isinstance(hits, int | float) and isinstance(units, int | float):
                return float(hits), float(units)
        return np.nan, np.nan


# Fields stay as they stand in the file, and are decoded only where they are wanted.
_RecordFields: Any = msgspec.defstruct(
    "_RecordFields",
    [
        ("id", str),
        ("question", str | None, None),
        ("group", str | None, None),
        *((name, msgspec.Raw, msgspec.Raw()) for name in FIELDS),
    ],
)


@dataclass(frozen=True)
class Scores:
    """The numbers of a run, rows in the order of items.jsonl.

    `ids` (n,) are hashes; `values` (n, metrics) holds NaN where `status` (n, metrics) is not
    `scored`; `counts` (n, metrics, 2) holds hits and units, NaN where an item tells none.
    """

    ids: Hashes
    values: NDArray[np.float64]
    status: NDArray[np.uint8]
    counts: NDArray[np.float64]

    def at(self, rows: NDArray[np.int64]) -> Scores:
        """These items only."""
        return Scores(self.ids[rows], self.values[rows], self.status[rows], self.counts[rows])

    def of(self, columns: Sequence[int]) -> Scores:
        """These metrics only."""
        return Scores(
            self.ids, self.values[:, columns], self.status[:, columns], self.counts[:, columns]
        )


@dataclass(frozen=True)
class Contents:
    """Hashes of each record's group, question and fields, shape (n,); NO_HASH where it has none."""

    groups: Hashes
    questions: Hashes
    fields: dict[str, Hashes]

    def of(self, rows: NDArray[np.int64]) -> Contents:
        """These records only."""
        fields = {name: column[rows] for name, column in self.fields.items()}
        return Contents(self.groups[rows], self.questions[rows], fields)


@dataclass(frozen=True)
class ByQuestion:
    """The numbers of a run by question: `ids` (questions,) are hashes.

    `clusters` (questions,) are equal for questions of one group, None where no group is told.
    """

    ids: Hashes
    answers: PerQuestion
    clusters: Hashes | None


def read_scores(run: FinishedRun, metrics: Sequence[str]) -> Scores:
    """The scores of these metrics. InputError: a line that is no item, an id that comes twice."""
    ids, values, status, counts = [], [], [], []
    with (run.path / ITEMS).open("rb") as lines:
        for block in _blocks(decode_lines(lines, _ItemScores, run.path / ITEMS)):
            ids.append(hash_texts(item.id for item in block))
            numbers = [[item.scores.get(metric) for metric in metrics] for item in block]
            values.append(np.array(numbers, np.float64))
            codes = [
                [CODES[item.status.get(metric, Status.NOT_APPLICABLE)] for metric in metrics]
                for item in block
            ]
            status.append(np.array(codes, np.uint8))
            hits = [[item.counts(metric) for metric in metrics] for item in block]
            counts.append(np.array(hits, np.float64))
    width = len(metrics)
    scores = Scores(
        np.concatenate([np.empty(0, np.int64), *ids]),
        np.concatenate([np.empty((0, width)), *values]),
        np.concatenate([np.empty((0, width), np.uint8), *status]),
        np.concatenate([np.empty((0, width, 2)), *counts]),
    )
    if len(np.unique(scores.ids)) < len(scores.ids):
        raise InputError(f"{run.path / ITEMS}: an id comes twice; expected unique ids. Run again")
    if run.questions is None:
        return scores
    if not np.array_equal(scores.ids, run.questions.ids):
        raise wrong_records(run)
    return _merge_answers(scores, run.questions.questions)


def read_contents(run: FinishedRun, ids: Hashes, fields: Sequence[str]) -> Contents:
    """All records of a run. InputError: records that are not those of the items."""
    groups, questions, seen = [], [], []
    columns: dict[str, list[Hashes]] = {name: [] for name in fields}
    for block in _blocks(read_records(run, _RecordFields)):
        groups.append(hash_texts(record.group for record in block))
        questions.append(hash_texts(record.question for record in block))
        seen.append(hash_texts(record.id for record in block))
        for name, column in columns.items():
            column.append(hash_texts(_canonical(name, getattr(record, name)) for record in block))
    empty = np.empty(0, np.int64)
    if not np.array_equal(np.concatenate([empty, *seen]), ids):
        raise wrong_records(run)
    return Contents(
        np.concatenate([empty, *groups]),
        np.concatenate([empty, *questions]),
        {name: np.concatenate([empty, *column]) for name, column in columns.items()},
    )


def read_by_question(run: FinishedRun, metrics: tuple[str, ...]) -> ByQuestion:
    """The metrics of a run, questions in the order in which they came. Raises InputError."""
    scores = read_scores(run, metrics)
    (by_question,) = with_questions([run])
    ids = scores.ids if by_question.questions is None else by_question.questions.questions
    first, codes = _number_questions(ids)
    answers = per_question(scores.values, codes, len(first), range(len(metrics)))
    clusters = None
    if run.has_records:
        groups = read_contents(run, scores.ids, ()).groups
        groups = np.where(groups == NO_HASH, ids, groups)[first]  # a question alone is its own
        clusters = groups if len(np.unique(groups)) < len(groups) else None
    return ByQuestion(ids[first], answers, clusters)


def metrics_by_field(metrics: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Field of `FIELDS` → those of these metrics that need it, in the order of the fields.

    A metric that is not known here, such as one of a package that is not installed, tells nothing.
    """
    readers: dict[str, list[str]] = {name: [] for name in FIELDS}
    for metric in metrics:
        try:
            needs = parse_spec(split_key(metric).spec).needs
        except UsageError:
            continue
        for need in needs:
            if need in readers:
                readers[need].append(metric)
    return {name: tuple(keys) for name, keys in readers.items() if keys}


def _merge_answers(scores: Scores, questions: Hashes) -> Scores:
    """A row for each question, in the order of their first answers; `questions` (items,)."""
    first, codes = _number_questions(questions)
    by_question = per_question(scores.values, codes, len(first), range(scores.values.shape[1]))
    status = np.where(
        by_question.scored > 0, np.uint8(CODES[Status.SCORED]), scores.status[first]
    ).astype(np.uint8)
    flat = scores.counts.reshape(len(scores.counts), -1)
    sums = per_question(flat, codes, len(first), range(flat.shape[1]))
    counts = (sums.means * sums.scored).reshape(len(first), *scores.counts.shape[1:])
    return Scores(questions[first], by_question.means, status, counts)


def _number_questions(questions: Hashes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The row of each question's first answer, in order, and the number of each answer's question.

    `questions` (answers,) holds equal numbers for answers to one question.
    """
    _, first, codes = np.unique(questions, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return first[order], place[codes]


def _canonical(name: str, raw: msgspec.Raw) -> bytes | None:
    """A field as JSON, whatever the order of its keys in the file; of passages only their texts."""
    text = bytes(raw)
    if text in (b"", b"null"):
        return None
    value = msgspec.json.decode(text)
    if name == "contexts":
        value = [one.get("text") if isinstance(one, dict) else one for one in value]
    return msgspec.json.encode(value, order="sorted")


def _blocks(items: Iterator[T]) -> Iterator[list[T]]:
    while block := list(islice(items, _BLOCK)):
        yield block
