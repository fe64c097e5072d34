"""Rows that are Python objects already: dicts and Records, in a list or from an iterator."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import IO, Any

import msgspec

from trueground.records.clean import clean
from trueground.records.problems import Problem, describe, known_id
from trueground.types import Record

Numbered = tuple[int, dict[str, Any] | Problem]


def read_objects(
    rows: Iterable[Any],
) -> Generator[Numbered, None, None]:
    """(1-based row, the object as a dict)."""
    for number, row in enumerate(rows, start=1):
        yield number, as_dict(row)


def as_dict(row: Any) -> dict[str, Any] | Problem:
    """A dict as it is, a Record as a dict."""
    if isinstance(row, Record):
        return {k: v for k, v in msgspec.structs.asdict(row).items() if v is not None}
    if isinstance(row, dict):
        return row
    return Problem(None, describe(row), "a dict or a Record")


def write_objects(rows: Iterable[Any], out: IO[bytes]) -> None:
    """JSON lines that `read_spooled` understands: an object, or a list that tells a Problem."""
    for row in rows:
        line: Any = as_dict(row)
        try:
            if isinstance(line, Problem):
                raise line
            line = clean(line)
        except Problem as problem:
            line = [problem.field, problem.found, problem.expected, known_id(row)]
        out.write(json.dumps(line).encode() + b"\n")


def read_spooled(path: Path) -> Generator[Numbered, None, None]:
    """(1-based row, the dict) of what `write_objects` wrote."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            row = json.loads(line)
            yield number, row if isinstance(row, dict) else Problem(*row)
