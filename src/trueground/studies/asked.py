"""Which question each answer of a finished run is of, as its records tell.

There is one rule for that, `evaluate.questioned.question_of`, by which the run was summed up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import msgspec

from trueground.evaluate.questioned import BY_ID, question_of
from trueground.runs.directory import ITEMS
from trueground.studies.reading import FinishedRun, decoded, hashes, read_records
from trueground.studies.repeated import Questions
from trueground.types import Answered


class _Named(msgspec.Struct):
    id: str


def with_questions(runs: Sequence[FinishedRun]) -> list[FinishedRun]:
    """The runs, each by its questions if one of them has several answers to some.

    A run that tells no repeats is read as the first that does, so that one answer stands against
    several. Where some run cannot be read so, as its records were not kept, none is. InputError:
    records that cannot be read.
    """
    told = [run.repeats_of for run in runs]
    shared = next((of for of in told if of is not None), None)
    if shared is None:
        return list(runs)
    found = []
    for run, of in zip(runs, told, strict=True):
        if run.has_records:
            found.append(
                replace(run, asked=_questions(of or shared, _of_records(run, of or shared)))
            )
        elif run.repeats > 1:  # a model was asked: an id is the question's, `#` and the repeat
            found.append(replace(run, asked=_questions(BY_ID, _of_ids(run))))
        elif of is None and shared == BY_ID:
            found.append(run)  # the id of its one answer is the question's
        else:
            return list(runs)
    return found


def _of_records(run: FinishedRun, of: str) -> Iterator[tuple[str, str]]:
    for record in read_records(replace(run, asked=None), Answered):
        yield record.id, question_of(record, of)


def _of_ids(run: FinishedRun) -> Iterator[tuple[str, str]]:
    with (run.path / ITEMS).open("rb") as lines:
        for item in decoded(lines, _Named, run.path / ITEMS):
            yield item.id, item.id.rpartition("#")[0] or item.id


def _questions(of: str, answers: Iterator[tuple[str, str]]) -> Questions:
    """Of each answer's id and the name of its question."""
    ids: list[str] = []
    numbers: dict[str, int] = {}
    questions = []
    for id_, name in answers:
        ids.append(id_)
        questions.append(numbers.setdefault(name, len(numbers)))
    names = hashes(numbers)
    return Questions(of, hashes(ids), names[questions], tuple(numbers))
