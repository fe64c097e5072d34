"""Finished run directories: manifest, records, and the scores of their items in columns.

A run may have several answers to each question. It is then read as a run of questions. The value
of a question is the mean over its scored answers. Its status is that of the first answer if no
answer is scored. Its hits and units are the sums over its answers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress, islice
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from trueground.components import ResultKey
from trueground.errors import InputError
from trueground.evaluate import QuestionRule
from trueground.metrics import AnswerVerdict
from trueground.runs import Manifest, RunFiles, Summary
from trueground.stats import PerQuestion
from trueground.text import hash_text
from trueground.types import Answered, Record, Status

# These fields differ between runs. All other fields are what an answer is measured against.
_OF_ANSWERS = {"id", "question", "response", "response_facts", "model", "group", "human", "meta"}
FIELDS = tuple(name for name in Record.__struct_fields__ if name not in _OF_ANSWERS)
_BLOCK = 4_096
_STATUS_CODES = {status.value: status.code for status in Status}
NO_HASH = 0
Hashes = NDArray[np.int64]
T = TypeVar("T")


class _HasId(Protocol):
    id: str


LineT = TypeVar("LineT", bound=_HasId)


@dataclass(frozen=True)
class Questions:
    """Which question each answer of a run is of, rows as in items.jsonl.

    `ids` (answers,) and `questions` (answers,) are hashes; `names` has the text of each question's
    name, in the order of their first answers.
    """

    ids: Hashes
    questions: Hashes
    names: tuple[str, ...]

    @property
    def answer_counts(self) -> tuple[int, int]:
        """The smallest and the largest number of answers to a question."""
        counts = np.unique(self.questions, return_counts=True)[1]
        return (int(counts.min()), int(counts.max())) if len(counts) else (0, 0)

    def first_answers(self, lines: Iterable[T]) -> Iterator[tuple[str, T]]:
        """Yield the name of each question with the line of its first answer."""
        first = np.zeros(len(self.questions), np.bool_)
        first[np.unique(self.questions, return_index=True)[1]] = True
        return zip(self.names, compress(lines, first.tolist()), strict=False)

    def name_first_answers(self, records: Iterable[LineT]) -> Iterator[LineT]:
        """Yield the first record of each question, with the question's name as its id."""
        for name, record in self.first_answers(records):
            record.id = name
            yield record


@dataclass(frozen=True)
class FinishedRun:
    """A run that ended well.

    With `questions`, the answers to one question are read as one item, under the question's name.
    """

    path: Path
    manifest: Manifest
    questions: Questions | None = None

    @cached_property
    def files(self) -> RunFiles:
        """The files of the run."""
        return RunFiles(self.path)

    @cached_property
    def summary(self) -> Summary | None:
        """The summary; None if it can't be read."""
        return self.files.find_summary()

    @property
    def signatures(self) -> dict[str, str]:
        """The signature of each metric."""
        return self.manifest.metrics

    @property
    def repeats(self) -> int:
        """How many answers a benchmark run has to each question; 1 for a scored file."""
        return self.manifest.repeats

    @property
    def task(self) -> str | None:
        """`benchmark/task` of a benchmark run."""
        return self.manifest.task

    @property
    def options(self) -> dict[str, Any]:
        """How the model was asked: the benchmark's options, parameters, prompts and data."""
        benchmark, identity = self.manifest.benchmark, self.manifest.identity or {}
        names = ("params", "prompts", "data")
        settings = {name: identity[name] for name in names if name in identity}
        return {**(benchmark.options if benchmark else {}), **settings}

    @property
    def model(self) -> str | None:
        """The model of a benchmark run."""
        return self.manifest.model.name if self.manifest.model else None

    @property
    def notices(self) -> tuple[str, ...]:
        """Notices that every page about this run must show."""
        return tuple(self.manifest.benchmark.notices) if self.manifest.benchmark else ()

    @property
    def repeats_of(self) -> str | None:
        """The rule by which the run's summary groups answers into questions, if any."""
        repeats = self.summary.repeats if self.summary else None
        if repeats is not None and repeats.of is not None:
            return repeats.of
        return QuestionRule.BY_ID if self.repeats > 1 else None

    @property
    def verdict_signature(self) -> str | None:
        """The signature of the answers' verdicts, or None if they have no verdicts."""
        verdicts = self.summary.verdicts if self.summary else None
        return verdicts.signature if verdicts else None

    @property
    def has_groups(self) -> bool:
        """Whether the run's intervals took groups as clusters; False without a summary.

        The answers to one question aren't a group.
        """
        if self.summary is None or self.summary.clusters is None:
            return False
        questions = self.summary.repeats.questions if self.summary.repeats else None
        return questions is None or self.summary.clusters < questions

    def metrics_named(self, name: str) -> list[str]:
        """Return the metric with that key, or else all with that bare name."""
        return ResultKey.find(name, self.signatures)

    @classmethod
    def open(cls, path: Path) -> FinishedRun:
        """Read the manifest. Raise InputError if there is no finished run."""
        files = RunFiles(path)
        manifest = files.check_finished()
        files.check_items()
        if not manifest.metrics:
            raise InputError(
                f"{files.manifest}: found no metric signatures under 'metrics'; run it again"
            )
        return cls(path, manifest)

    def iter_records(self, kind: type[LineT]) -> Iterator[LineT]:
        """Yield the records that the run kept, as structs of this kind.

        Raises:
            InputError: A line can't be read.
        """
        records = self.files.iter_records(kind)
        return records if self.questions is None else self.questions.name_first_answers(records)

    def read_scores(self, metrics: Sequence[str]) -> Scores:
        """Return the scores of these metrics.

        Raises:
            InputError: A line isn't an item, or an id is repeated.
        """
        ids, values, status, counts, verdicts = [], [], [], [], []
        for block in _blocks(self.files.iter_numbers()):
            ids.append(hash_texts(item.id for item in block))
            numbers = [[item.scores.get(metric) for metric in metrics] for item in block]
            values.append(np.array(numbers, np.float64))
            status.append(
                np.array(
                    [_status_codes(self, item.id, item.status, metrics) for item in block], np.uint8
                )
            )
            hits = [
                [item.counts(metric) or (np.nan, np.nan) for metric in metrics] for item in block
            ]
            counts.append(np.array(hits, np.float64))
            verdict_names = np.array([item.verdict for item in block], object)[:, None]
            verdicts.append(
                (verdict_names == np.array(AnswerVerdict.NAMES, object)).astype(np.float64)
            )
        width = len(metrics)
        scores = Scores(
            np.concatenate([np.empty(0, np.int64), *ids]),
            np.concatenate([np.empty((0, width)), *values]),
            np.concatenate([np.empty((0, width), np.uint8), *status]),
            np.concatenate([np.empty((0, width, 2)), *counts]),
            np.concatenate([np.empty((0, len(AnswerVerdict.NAMES))), *verdicts]),
        )
        if len(np.unique(scores.ids)) < len(scores.ids):
            raise InputError(
                f"{self.files.items}: an id comes twice; expected unique ids. Run again"
            )
        if self.questions is None:
            return scores
        if not np.array_equal(scores.ids, self.questions.ids):
            raise self.files.wrong_records
        return _merge_answers(scores, self.questions.questions)

    def iter_scored(
        self, kind: type[LineT], metrics: Sequence[str]
    ) -> Iterator[tuple[LineT, list[float]]]:
        """Yield each record with its values of these metrics, NaN if it has none.

        Raises:
            InputError: The records aren't those of the items.
        """
        scores = self.read_scores(metrics)
        row = -1
        for row, record in enumerate(self.iter_records(kind)):
            if row >= len(scores.ids) or hash_texts([record.id])[0] != scores.ids[row]:
                raise self.files.wrong_records
            yield record, scores.values[row].tolist()
        if row + 1 != len(scores.ids):
            raise self.files.wrong_records

    def read_contents(self, ids: Hashes, fields: Sequence[str]) -> dict[str, Hashes]:
        """Return hashes of each record's `group`, `question` and `fields`, (n,).

        Missing values are NO_HASH.

        Raises:
            InputError: The records aren't those of the items.
        """
        names = ("id", "group", "question", *fields)
        columns: dict[str, list[Hashes]] = {name: [np.empty(0, np.int64)] for name in names}
        for block in _blocks(self.iter_records(_RecordFields)):
            for name, column in columns.items():
                column.append(
                    hash_texts(_canonical(name, getattr(record, name)) for record in block)
                )
        contents = {name: np.concatenate(column) for name, column in columns.items()}
        if not np.array_equal(contents.pop("id"), ids):
            raise self.files.wrong_records
        return contents


def with_questions(runs: Sequence[FinishedRun]) -> list[FinishedRun]:
    """Return the runs, read by question if one of them has several answers to a question.

    `evaluate.table.QuestionRule` of the run's summary decides which question an answer is of. A
    run without repeats uses the rule of the first run that has one. If a run can't be read by
    question because its records weren't kept, no run is.

    Raises:
        InputError: Records can't be read.
    """
    rules = [run.repeats_of for run in runs]
    shared = next((rule for rule in rules if rule is not None), None)
    if shared is None:
        return list(runs)
    by_question = []
    for run, rule in zip(runs, rules, strict=True):
        if run.files.has_records:
            records = dataclasses.replace(run, questions=None).iter_records(Answered)
            named = ((record.id, QuestionRule(rule or shared).read(record)) for record in records)
            by_question.append(dataclasses.replace(run, questions=_parse_questions(named)))
        elif run.repeats > 1:  # a model was asked: an id is the question's, `#` and the repeat
            items = run.files.iter_scores()
            named = ((item.id, item.id.rpartition("#")[0] or item.id) for item in items)
            by_question.append(dataclasses.replace(run, questions=_parse_questions(named)))
        elif rule is None and shared == QuestionRule.BY_ID:
            by_question.append(run)  # the id of its one answer is the question's
        else:
            return list(runs)
    return by_question


def _parse_questions(answers: Iterable[tuple[str, str]]) -> Questions:
    """Return the questions of `answers`, pairs of an answer's id and its question's name."""
    ids: list[str] = []
    numbers: dict[str, int] = {}
    questions = []
    for id_, name in answers:
        ids.append(id_)
        questions.append(numbers.setdefault(name, len(numbers)))
    names = hash_texts(numbers)
    return Questions(hash_texts(ids), names[questions], tuple(numbers))


def hash_texts(texts: Iterable[str | bytes | None]) -> Hashes:
    """Return 64-bit hashes of the texts, NO_HASH for None."""
    return np.array([NO_HASH if text is None else hash_text(text) for text in texts], np.int64)


# Fields stay raw JSON and are decoded only on request, which is faster.
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

    `ids` (n,) are hashes; `values` (n, metrics) holds NaN where `status` is not `scored`; `counts`
    (n, metrics, 2) hits and units, NaN where an item tells none; `verdicts` (n, 5) is 1 where the
    answer has a verdict (of AnswerVerdict.NAMES) and 0 elsewhere.
    """

    ids: Hashes
    values: NDArray[np.float64]
    status: NDArray[np.uint8]
    counts: NDArray[np.float64]
    verdicts: NDArray[np.float64]

    def at(self, rows: NDArray[np.int64]) -> Scores:
        """Return the scores of these items."""
        columns = {name: getattr(self, name)[rows] for name in self.__dataclass_fields__}
        return Scores(**columns)

    def of(self, columns: Sequence[int]) -> Scores:
        """Return the scores of these metrics."""
        return dataclasses.replace(
            self,
            values=self.values[:, columns],
            status=self.status[:, columns],
            counts=self.counts[:, columns],
        )


def _status_codes(
    run: FinishedRun, id_: str, by_metric: Mapping[str, str], metrics: Sequence[str]
) -> list[int]:
    statuses = [by_metric.get(metric, Status.NOT_APPLICABLE) for metric in metrics]
    try:
        return [_STATUS_CODES[status] for status in statuses]
    except KeyError as error:
        raise InputError(
            f"{run.files.items}, id {id_!r}: found the status {error}; expected one of "
            f"{', '.join(Status)}. Run again"
        ) from None


def _merge_answers(scores: Scores, questions: Hashes) -> Scores:
    """Return one row for each question, in the order of their first answers."""
    first, codes = number_questions(questions)
    by_question = PerQuestion.of(scores.values, codes, len(first), range(scores.values.shape[1]))
    status = np.where(
        by_question.scored > 0, np.uint8(Status.SCORED.code), scores.status[first]
    ).astype(np.uint8)
    flat = scores.counts.reshape(len(scores.counts), -1)
    sums = PerQuestion.of(flat, codes, len(first), range(flat.shape[1]))
    counts = (sums.means * sums.scored).reshape(len(first), *scores.counts.shape[1:])
    verdicts = PerQuestion.of(
        scores.verdicts, codes, len(first), range(len(AnswerVerdict.NAMES))
    ).means
    return Scores(questions[first], by_question.means, status, counts, verdicts)


def number_questions(questions: Hashes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of the questions' first answers, and the question number of each answer.

    Args:
        questions: Equal numbers for answers to the same question, shape (answers,).
    """
    _, first, codes = np.unique(questions, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number_of = np.empty_like(order)
    number_of[order] = np.arange(len(order))
    return first[order], number_of[codes]


def _canonical(name: str, value: Any) -> str | bytes | None:
    """Return a field as JSON with sorted keys, of passages only their texts."""
    if not isinstance(value, msgspec.Raw):
        text: str | None = value
        return text
    if bytes(value) in (b"", b"null"):
        return None
    decoded = msgspec.json.decode(value)
    if name == "contexts":
        decoded = [
            context.get("text") if isinstance(context, dict) else context for context in decoded
        ]
    return msgspec.json.encode(decoded, order="sorted")


def _blocks(items: Iterator[T]) -> Iterator[list[T]]:
    while block := list(islice(items, _BLOCK)):
        yield block
