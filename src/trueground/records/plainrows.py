"""Rows of data files that are no records: every format of the readers, each row with its place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from trueground.errors import InputError
from trueground.records.jsontext import decode_row
from trueground.records.parts import KINDS, PACKINGS, Part, file_part
from trueground.records.problems import Problem
from trueground.records.spool import Spool


def data_files(path: Path) -> list[Path]:
    """The file itself, or all data files in a folder and below it, in name order.

    Hidden files and folders are left out. InputError: no such path, no data file in the folder.
    """
    if not path.is_dir():
        if not path.exists():
            raise InputError(f"{path} does not exist; name a data file or a folder of them")
        return [path]
    found = sorted(file for file in path.rglob("*") if _is_data(file, path))
    if not found:
        raise InputError(f"{path} holds no data file; expected names that end in {_endings()}")
    return found


def plain_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """(place such as `a.jsonl, line 3`, row) of a file, or of all data files of a folder.

    JSON lines, a JSON array, CSV or Parquet, also packed. Empty cells are left out. InputError: a
    file or a row that cannot be read.
    """
    for file in data_files(path):
        spool = Spool()
        try:
            part = file_part(str(file), spool, {}, None)
            with closing(part.rows()) as rows:
                for number, value in rows:
                    place = f"{part.name}, {part.unit} {number}"
                    yield place, _row(part, place, value)
        finally:
            spool.close()


def _row(part: Part, place: str, value: Any) -> dict[str, Any]:
    try:
        if isinstance(value, Problem):
            raise value
        row = decode_row(value) if isinstance(value, bytes) else value
        row = part.tidy(row) if part.tidy else row
        return part.cells(row) if part.cells else row
    except Problem as problem:
        field = f", field {problem.field!r}" if problem.field else ""
        raise InputError(
            f"{place}{field}: found {problem.found}; expected {problem.expected}"
        ) from None


def _is_data(file: Path, folder: Path) -> bool:
    below = file.relative_to(folder)
    if any(part.startswith(".") for part in below.parts) or not file.is_file():
        return False
    bare = file.with_suffix("") if file.suffix.lower() in PACKINGS else file
    return bare.suffix.lower() in KINDS


def _endings() -> str:
    return f"{', '.join(KINDS)}, each also with {' or '.join(PACKINGS)}"
