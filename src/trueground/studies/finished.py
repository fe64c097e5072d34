"""Finished run directories: manifest, records, and which question each answer is of.

A run may have several answers to each question. It is then read as a run of questions: the value of
a question is the mean over its scored answers, its status that of the first answer where none is
scored, its hits and units those of all its answers together.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from trueground.errors import InputError
from trueground.evaluate.table import BY_ID, question_of
from trueground.plugins import keys_named
from trueground.records.files import open_unpacked
from trueground.runs.directory import ITEMS, MANIFEST, RECORDS, SUMMARY
from trueground.types import Answered

NO_HASH = 0
Hashes = NDArray[np.int64]
T = TypeVar("T")


class HasId(Protocol):
    """A line of items or records."""

    id: str


LineT = TypeVar("LineT", bound=HasId)


@dataclass(frozen=True)
class Questions:
    """Which question each answer of a run is of, rows as in items.jsonl.

    `told_by` is the rule for that (`evaluate.table`). `ids` (answers,) and `questions`
    (answers,) are hashes; `names` has the text of each question's name, in the order of their first
    answers.
    """

    told_by: str
    ids: Hashes
    questions: Hashes
    names: tuple[str, ...]

    @property
    def answer_counts(self) -> tuple[int, int]:
        """The least and the largest number of answers to a question."""
        counts = np.unique(self.questions, return_counts=True)[1]
        return (int(counts.min()), int(counts.max())) if len(counts) else (0, 0)

    def first_answers(self, lines: Iterable[T]) -> Iterator[tuple[str, T]]:
        """Of what has a line for each answer, the first of each question, behind its name."""
        first = np.zeros(len(self.questions), np.bool_)
        first[np.unique(self.questions, return_index=True)[1]] = True
        return zip(self.names, compress(lines, first.tolist()), strict=False)


@dataclass(frozen=True)
class FinishedRun:
    """A run that ended well. `signatures` tells for each metric what fixes its value.

    With `questions`, the answers to one question are read as one item, under the question's name.
    """

    path: Path
    manifest: dict[str, Any]
    signatures: dict[str, str]
    questions: Questions | None = None

    @property
    def repeats(self) -> int:
        """How many answers a benchmark run has to each question; 1 for a scored file."""
        repeats = self.manifest.get("repeats")
        return repeats if isinstance(repeats, int) else 1

    @property
    def task(self) -> str | None:
        """`benchmark/task` of a benchmark run."""
        benchmark = self._part("benchmark")
        return f"{benchmark.get('name')}/{benchmark.get('task')}" if benchmark else None

    @property
    def options(self) -> dict[str, Any]:
        """How the model was asked: the benchmark's options, parameters, prompts and data."""
        identity = self._part("identity")
        asked = {name: identity[name] for name in ("params", "prompts", "data") if name in identity}
        return {**(self._part("benchmark").get("options") or {}), **asked}

    @property
    def model(self) -> str | None:
        """The model of a benchmark run."""
        return self._part("model").get("name")

    @property
    def notices(self) -> tuple[str, ...]:
        """What every page of this run must say."""
        return tuple(self._part("benchmark").get("notices") or ())

    @property
    def has_records(self) -> bool:
        """Whether the records were kept with the run."""
        return (self.path / RECORDS).exists()

    @property
    def repeats_of(self) -> str | None:
        """By which rule the run's own summary tells questions with several answers, if any."""
        rule = (self._summary.get("repeats") or {}).get("of")
        if isinstance(rule, str):
            return rule
        return BY_ID if self.repeats > 1 else None

    @property
    def has_groups(self) -> bool:
        """Whether the run's own intervals took groups as clusters; False without a summary.

        The answers to one question are no group.
        """
        clusters = self._summary.get("clusters")
        questions = (self._summary.get("repeats") or {}).get("questions")
        return clusters is not None and (questions is None or clusters < questions)

    def metrics_named(self, name: str) -> list[str]:
        """The metric of that key; where there is none, all with that bare name."""
        return keys_named(name, self.signatures)

    def _part(self, name: str) -> dict[str, Any]:
        part = self.manifest.get(name)
        return part if isinstance(part, dict) else {}

    @cached_property
    def _summary(self) -> dict[str, Any]:
        try:
            return msgspec.json.decode((self.path / SUMMARY).read_bytes(), type=dict[str, Any])
        except (OSError, msgspec.DecodeError):
            return {}


def open_run(path: Path) -> FinishedRun:
    """Read the manifest. InputError: no run there, or one that is not finished."""
    try:
        manifest = msgspec.json.decode((path / MANIFEST).read_bytes(), type=dict[str, Any])
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"{path / MANIFEST}: not found; expected the directory of a finished run, such as "
            "`trueground score FILE --out DIR` writes"
        ) from None
    except OSError as error:
        raise InputError(f"{path / MANIFEST} cannot be read: {error.strerror or error}") from error
    except msgspec.DecodeError as error:
        raise InputError(f"{path / MANIFEST}: not readable ({error}); run again") from error
    status = manifest.get("status")
    if status != "finished":
        raise InputError(
            f"{path}: this run is {status!r}; expected 'finished'. Run its command again "
            "(`score` with --overwrite) to finish it, then compare"
        )
    if not (path / ITEMS).exists():
        raise InputError(f"{path / ITEMS}: not found, although the run is finished; run it again")
    signatures = manifest.get("metrics")
    if not isinstance(signatures, dict):
        raise InputError(
            f"{path / MANIFEST}: found no metric signatures under 'metrics'; run it again"
        )
    return FinishedRun(path, manifest, signatures)


def read_records(run: FinishedRun, kind: type[LineT]) -> Iterator[LineT]:
    """All records that were kept with the run, as structs of this kind, which have an `id`.

    InputError: lines that cannot be read.
    """
    path = run.path / RECORDS
    with open_unpacked(path) as lines:
        records = decode_lines(lines, kind, path)
        if run.questions is None:
            yield from records
            return
        for name, record in run.questions.first_answers(records):
            record.id = name
            yield record


def wrong_records(run: FinishedRun) -> InputError:
    """The error for a run whose records are not those of its items."""
    return InputError(
        f"{run.path / RECORDS}: the ids are not those of {ITEMS}. Run again, or remove the records "
        "file"
    )


def with_questions(runs: Sequence[FinishedRun]) -> list[FinishedRun]:
    """The runs, each by its questions if one of them has several answers to some.

    There is one rule for which question an answer is of, `evaluate.table.question_of`, by
    which the run was summed up. A run that tells no repeats is read as the first that does, so that
    one answer stands against several. Where some run cannot be read so, as its records were not
    kept, none is. InputError: records that cannot be read.
    """
    rules = [run.repeats_of for run in runs]
    shared = next((rule for rule in rules if rule is not None), None)
    if shared is None:
        return list(runs)
    by_question = []
    for run, rule in zip(runs, rules, strict=True):
        if run.has_records:
            answers = _answers_by_records(run, rule or shared)
            questions = _parse_questions(rule or shared, answers)
            by_question.append(dataclasses.replace(run, questions=questions))
        elif run.repeats > 1:  # a model was asked: an id is the question's, `#` and the repeat
            questions = _parse_questions(BY_ID, _answers_by_ids(run))
            by_question.append(dataclasses.replace(run, questions=questions))
        elif rule is None and shared == BY_ID:
            by_question.append(run)  # the id of its one answer is the question's
        else:
            return list(runs)
    return by_question


class _IdLine(msgspec.Struct):
    id: str


def _answers_by_records(run: FinishedRun, rule: str) -> Iterator[tuple[str, str]]:
    for record in read_records(dataclasses.replace(run, questions=None), Answered):
        yield record.id, question_of(record, rule)


def _answers_by_ids(run: FinishedRun) -> Iterator[tuple[str, str]]:
    with (run.path / ITEMS).open("rb") as lines:
        for item in decode_lines(lines, _IdLine, run.path / ITEMS):
            yield item.id, item.id.rpartition("#")[0] or item.id


def _parse_questions(rule: str, answers: Iterable[tuple[str, str]]) -> Questions:
    """`answers` are pairs: an answer's id, and the name of its question."""
    ids: list[str] = []
    numbers: dict[str, int] = {}
    questions = []
    for id_, name in answers:
        ids.append(id_)
        questions.append(numbers.setdefault(name, len(numbers)))
    names = hash_texts(numbers)
    return Questions(rule, hash_texts(ids), names[questions], tuple(numbers))


def hash_texts(texts: Iterable[str | bytes | None]) -> Hashes:
    """64 bits of each text, NO_HASH for None: equal where the texts are equal."""
    return np.array([NO_HASH if text is None else _hash(text) for text in texts], np.int64)


def _hash(text: str | bytes) -> int:
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    digest = hashlib.blake2b(raw, digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def decode_lines(lines: Iterable[bytes], kind: type[LineT], path: Path) -> Iterator[LineT]:
    """Each line as a struct of this kind. InputError names `path` and the line."""
    decode = msgspec.json.Decoder(kind).decode
    for number, line in enumerate(lines, start=1):
        try:
            yield decode(line)
        except msgspec.DecodeError as error:
            raise InputError(
                f"{path}, line {number}: not a line that this version writes ({error}); run again"
            ) from error
