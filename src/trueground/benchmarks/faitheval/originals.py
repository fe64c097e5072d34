"""The questions as they were before FaithEval changed their contexts: MRQA and ARC-Challenge.

They are joined by id, and only where the question is the same, so that a file of something else is
never taken for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from trueground.benchmarks.datasets import all_local_files, is_fetched
from trueground.benchmarks.faitheval.source import FaithEvalFields
from trueground.errors import InputError, UsageError
from trueground.records.files import data_files
from trueground.records.problems import describe
from trueground.records.reading import plain_rows
from trueground.text.normalize import FAITHEVAL
from trueground.types import Choice

_SHOWN = 5


@dataclass(frozen=True)
class OriginalQuestion:
    """What a question was made of; a multiple-choice question has options and a key."""

    question: str
    context: str = ""
    answers: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()
    key: str = ""


def original_files(path: Path | None, choices: bool) -> list[Path]:
    """The files that hold the originals: those at `path`, or those that were fetched.

    UsageError: neither. Never is anything else taken for them.
    """
    if path is not None:
        return data_files(path)
    name = "arc-challenge" if choices else "mrqa"
    if is_fetched(name):
        return all_local_files(name)
    what = "ARC-Challenge's files" if choices else "MRQA's files"
    raise UsageError(
        "original contexts and keys are not in FaithEval's own files; add --original PATH with "
        f"{what}, to be joined by id, or fetch them: trueground data fetch {name}"
    )


def find_originals(
    files: Sequence[Path], wanted: Mapping[str, str], choices: bool
) -> dict[str, OriginalQuestion]:
    """The originals of the questions in `wanted` (by id); all others are passed over.

    InputError: an unreadable file or row, a question without an original, one that asks something
    else than its original, two different originals of one id.
    """
    rows, read = (_arc_rows, _choice_question) if choices else (_mrqa_rows, _open_question)
    found: dict[str, OriginalQuestion] = {}
    for fields in chain.from_iterable(map(rows, files)):
        row_id = next((name for name in fields.ids if name in wanted), None)
        if row_id is None:
            continue
        original = read(fields)
        if found.setdefault(row_id, original) != original:
            raise InputError(
                f"{fields.place} (id {row_id!r}): found a second, different original of this id; "
                "expected one"
            )
    missing = [name for name in wanted if name not in found]
    where = ", ".join(map(str, files))
    what = "ARC-Challenge question" if choices else "original context"
    require_none(missing, f"questions have no {what} in {where}", "Add the files that hold them.")
    others = [name for name in wanted if not same_text(wanted[name], found[name].question)]
    remedy = "Name the files that they come from."
    require_none(others, f"questions read otherwise in {where}", remedy)
    return found


def require_none(ids: list[str], what: str, remedy: str) -> None:
    """InputError that counts these ids and names the first, unless there are none."""
    if ids:
        first = ", ".join(map(repr, ids[:_SHOWN])) + (", …" if len(ids) > _SHOWN else "")
        raise InputError(f"{len(ids)} {what}: {first}. {remedy}")


def same_text(one: str, other: str) -> bool:
    """Are the texts equal but for case, articles, punctuation and spaces?"""
    return FAITHEVAL.rule(one) == FAITHEVAL.rule(other)


def _mrqa_rows(path: Path) -> Iterator[FaithEvalFields]:
    """Every question: in MRQA's layout several to a context, in a flat one a row each."""
    for place, row in plain_rows(path):
        if "qas" in row:
            yield from (FaithEvalFields(place, question) for question in _questions(place, row))
        elif "header" not in row:
            yield FaithEvalFields(place, row)


def _questions(place: str, row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    questions = row["qas"]
    if not isinstance(questions, list) or not all(isinstance(q, dict) for q in questions):
        raise InputError(
            f"{place}, field 'qas': found {describe(questions)}; expected a list of objects"
        )
    yield from ({**question, "context": row.get("context")} for question in questions)


def _open_question(fields: FaithEvalFields) -> OriginalQuestion:
    answers = fields.texts("answers", "answer")
    return OriginalQuestion(fields.text("question"), fields.text("context"), answers)


def _arc_rows(path: Path) -> Iterator[FaithEvalFields]:
    """Every question: in ARC's layout with its options inside, in a flat one beside them."""
    for place, row in plain_rows(path):
        inner = row.get("question")
        if isinstance(inner, dict):
            row = {**row, "question": inner.get("stem"), "choices": inner.get("choices")}
        yield FaithEvalFields(place, row)


def _choice_question(fields: FaithEvalFields) -> OriginalQuestion:
    choices = fields.choices()
    return OriginalQuestion(fields.text("question"), choices=choices, key=fields.key(choices))
