"""Rows of the users' files: plain ones, and those of MRQA and ARC in their own layouts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from trueground.builders import rows
from trueground.builders.rows import Unusable
from trueground.errors import InputError
from trueground.records.problems import describe


class ContextRow(NamedTuple):
    """A row, or what is wrong with it; `stem` is the bare name of its file."""

    place: str
    stem: str
    value: dict[str, Any] | Unusable | InputError


def source_rows(files: Sequence[Path]) -> Iterator[ContextRow]:
    """All questions of all files in order; wrong rows among them. InputError: a file is unreadable.

    A row of MRQA has several questions to a context; one of ARC has its options in the question.
    """
    for place, file, _, value in rows.source_rows(files):
        found = _questions(place, value) if isinstance(value, dict) else (value,)
        yield from (ContextRow(place, file.name.split(".")[0], one) for one in found)


def _questions(place: str, row: dict[str, Any]) -> Iterator[dict[str, Any] | InputError]:
    inner = row.get("question")
    if isinstance(inner, dict):
        yield {**row, "question": inner.get("stem"), "choices": inner.get("choices")}
    elif "qas" in row:
        questions = row["qas"]
        if not isinstance(questions, list) or not all(isinstance(q, dict) for q in questions):
            found = describe(questions)
            yield InputError(f"{place}, field 'qas': found {found}; expected a list of objects")
            return
        yield from ({**question, "context": row.get("context")} for question in questions)
    elif "header" not in row:
        yield row
