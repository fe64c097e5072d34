"""Rows of the users' files: plain ones, and those of MRQA and ARC in their own layouts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from trueground.errors import InputError
from trueground.records.jsontext import decode_row
from trueground.records.parts import Part, file_part
from trueground.records.plainrows import data_files
from trueground.records.problems import Problem, describe
from trueground.records.spool import Spool

# Control characters but tab, line feed, form feed, carriage return and next line (0x85).
CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f]")


class Row(NamedTuple):
    """A row, or what is wrong with it; `stem` is the bare name of its file."""

    place: str
    stem: str
    value: dict[str, Any] | Binary | InputError


class Binary(NamedTuple):
    """A row that is no text: what was found, and the row's id where it is known."""

    found: str
    id: str | None


def source_files(paths: Sequence[Path]) -> list[Path]:
    """All data files, each once. InputError."""
    return list(dict.fromkeys(file for path in paths for file in data_files(path)))


def source_rows(files: Sequence[Path]) -> Iterator[Row]:
    """All questions of all files in order; wrong rows among them. InputError: a file is unreadable.

    A row of MRQA has several questions to a context; one of ARC has its options in the question.
    """
    for file in files:
        stem = file.name.split(".")[0]
        spool = Spool()
        try:
            part = file_part(str(file), spool, {}, None)
            with closing(part.rows()) as rows:
                for number, raw in rows:
                    place = f"{part.name}, {part.unit} {number}"
                    value = _decoded(part, place, raw)
                    for one in _questions(place, value) if isinstance(value, dict) else (value,):
                        yield Row(place, stem, one)
        finally:
            spool.close()


def _decoded(part: Part, place: str, raw: Any) -> dict[str, Any] | Binary | InputError:
    try:
        if isinstance(raw, Problem):
            raise raw
        row = decode_row(raw, "one JSON object") if isinstance(raw, bytes) else raw
        row = part.tidy(row) if part.tidy else row
        return part.cells(row) if part.cells else row
    except Problem as problem:
        if "NUL" in problem.found or problem.found.startswith("invalid UTF-8"):
            return Binary(f"{place}: {problem.found}", problem.row_id)
        field = f", field {problem.field!r}" if problem.field else ""
        return InputError(f"{place}{field}: found {problem.found}; expected {problem.expected}")


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
