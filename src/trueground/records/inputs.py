"""The inputs of records: files in each format, data frames and objects, all as numbered rows."""

from __future__ import annotations

import io
import json
import re
import shutil
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import urlsplit

import msgspec

from trueground.errors import BadRow, InputError
from trueground.net import redact_urls
from trueground.records.files import (
    KINDS,
    PACKINGS,
    STDIN,
    LocalCopies,
    inner_ending,
    is_remote,
    open_range,
    open_unpacked,
    packing_of,
    require_readable,
)
from trueground.records.jsonl import RECORD, decode_row, read_array, read_lines, read_members
from trueground.records.problems import Problem, clean, describe, known_id, model_fields
from trueground.types import Record

_Convert = Callable[[dict[str, Any]], dict[str, Any]]
_Rows = Generator[tuple[int, Any], None, None]
# One object around the array of rows, as RAGChecker and LlamaIndex write it.
_WRAPPED = re.compile(rb'\{\s*"(?:results|examples)"\s*:\s*\[\s*\{')


def _keep(row: dict[str, Any]) -> dict[str, Any]:
    return row


class FilePart(msgspec.Struct, frozen=True):
    """A part of a file: bytes of JSON lines, rows of Parquet, or all of any other (`high` None).

    `before` is the number of the file's lines or rows before it.
    """

    name: str
    low: int = 0
    high: int | None = None
    before: int = 0


@dataclass(frozen=True)
class RowInput:
    """One file, frame or list of objects.

    `rows` starts reading: (row number, JSON text or dict or Problem). `clean` makes a row's values
    plain before columns are renamed, `decode_cells` decodes cells afterwards. `path` is the local
    file, None for objects. `unit` is what row numbers count.
    """

    name: str
    rows: Callable[[], _Rows]
    clean: _Convert = _keep
    decode_cells: _Convert = _keep
    path: Path | None = None
    unit: str = "row"

    def place(self, number: int) -> str:
        """Where a user finds a row: `answers.jsonl, line 3`."""
        return f"{self.name}, {self.unit} {number}"

    def read(self, value: Any, expected: str = RECORD) -> dict[str, Any]:
        """The row of what `rows` gave. Problem."""
        if isinstance(value, Problem):
            raise value
        return self.clean(decode_row(value, expected) if isinstance(value, bytes) else value)

    def bad_row(self, number: int, row_id: str | None, problem: Problem) -> BadRow:
        """The account of a problem, with its place."""
        what = problem.field, problem.found, problem.expected
        return BadRow(self.name, number, row_id, *what, self.unit)


def part_input(part: FilePart, copies: LocalCopies, response: str = "response") -> RowInput:
    """The input of a part of a file; of a range of a remote file nothing is copied. InputError."""
    if part.high is None:
        return file_input(part.name, copies, response)
    low, high, label = part.low, part.high, redact_urls(part.name)

    def lines() -> _Rows:
        with open_range(part.name, low, high) as stream:
            for number, line in read_lines(stream, label):
                yield number + part.before, line

    if splittable(part.name) == "parquet":
        from trueground.records.tables import clean_cells, decode_cells, read_parquet

        rows = partial(read_parquet, part.name, label, low, high - low)
        return RowInput(label, rows, clean_cells, decode_cells)
    return RowInput(label, lines, unit="line")


def splittable(name: str) -> str | None:
    """`lines` or `parquet` where parts of the file can be read by themselves, by its name."""
    kind, packing = _format_of(name)
    return kind if kind in ("lines", "parquet") and not packing and name != STDIN else None


def file_input(
    name: str, copies: LocalCopies, response: str = "response", limit: int | None = None
) -> RowInput:
    """The input of a path, a URL or `-`; remote files and pipes are copied first. InputError.

    `response` is the column whose empty cells are kept.
    """
    label = redact_urls(name)
    if name == STDIN or is_remote(name):
        path = copies.fetch(name)
        if not path.stat().st_size:
            label = "standard input" if name == STDIN else label
            raise InputError(f"{label} is empty; it holds no records")
    else:
        path = Path(name)
        require_readable(path, name)
        path = path if path.is_file() else copies.fetch(name)
    kind, packing = ("lines", "") if name == STDIN else _format_of(name)
    if kind == "sniff":
        kind = _sniff(path, packing, label)

    if kind in ("csv", "tsv", "parquet"):
        return _table_input(name, path, kind, packing, copies, response, limit)

    def rows() -> _Rows:
        with open_unpacked(path, packing, label) as stream:
            if kind == "lines":
                yield from read_lines(stream, label)
            elif kind == "members":
                yield from _read_answers(stream, label)
            else:
                yield from read_array(stream, label, wrapped=kind == "wrapped")

    return RowInput(label, rows, path=path, unit="line" if kind == "lines" else "row")


def _table_input(
    name: str, path: Path, kind: str, packing: str, copies: LocalCopies, response: str,
    limit: int | None,
) -> RowInput:  # fmt: skip
    from trueground.records.tables import clean_cells, decode_cells, read_csv, read_parquet

    label = redact_urls(name)

    def csv_rows() -> _Rows:
        with open_unpacked(path, packing, label) as stream:
            yield from read_csv(stream, label, "\t" if kind == "tsv" else ",", response)

    def parquet_rows() -> _Rows:
        whole = path
        if packing:  # the format is read at random
            with open_unpacked(path, packing, label) as stream:
                whole = copies.write(
                    f"{name} unpacked", lambda out: shutil.copyfileobj(stream, out)
                )
        yield from read_parquet(str(whole), label, 0, limit)

    if kind == "parquet":
        return RowInput(label, parquet_rows, clean_cells, decode_cells, path)
    return RowInput(label, csv_rows, decode_cells=decode_cells, path=path)


def _format_of(name: str) -> tuple[str, str]:
    """The format and the packing that a file name stands for; an unknown ending is sniffed."""
    bare = urlsplit(name).path if name.startswith(("http://", "https://")) else name
    file = PurePosixPath(bare.lower().replace("\\", "/"))
    return KINDS.get(inner_ending(file), "sniff"), packing_of(file)


def _sniff(path: Path, packing: str, name: str) -> str:
    """`array`, `wrapped`, `members` or `lines`, by the first byte that is not blank, and what it
    opens.
    """
    with open_unpacked(path, packing, name) as stream:
        start = b""
        while not start and (chunk := stream.read(1 << 16)):
            start = chunk.lstrip()
    if not start:
        raise InputError(f"{name} holds no records, only blanks")
    kind = {b"[": "array", b"{": "lines"}.get(start[:1])
    if kind is None:
        endings = ", ".join(KINDS)
        raise InputError(
            f"{name}: unknown format, because it begins neither with [ nor with {{. Use one of the "
            f"endings {endings}, each also with {' or '.join(PACKINGS)}"
        )
    if _WRAPPED.match(start):
        return "wrapped"
    if kind == "lines":
        with open_unpacked(path, packing, name) as stream, suppress(InputError):
            # Two, since a row of JSON lines may begin with an object.
            first = [value for _, value in islice(read_members(stream, name), 2)]
            if all(isinstance(value, dict) and "output" in value for value in first):
                return "members"
    return kind


def _read_answers(stream: io.BufferedReader, name: str) -> _Rows:
    """Truly-Ground's answers, {qId: {"input": …, "output": …}}, as rows of id and response."""
    for number, (key, value) in enumerate(read_members(stream, name), start=1):
        if isinstance(value, dict) and "output" in value:
            row = {"id": key, "response": value.pop("output")}
            if "input" in value:  # the whole prompt, which is no question
                row["meta"] = {"input": value.pop("input")}
            yield number, row | value
        else:
            yield number, Problem(None, f"{describe(value)} under {key!r}", "input and output")


def object_input(source: Any, copies: LocalCopies) -> RowInput:
    """The input of a data frame, or of an iterable of dicts and Records. InputError.

    Objects of an iterator are written to a file first, since they are read twice.
    """
    library = type(source).__module__.partition(".")[0]
    if library in ("polars", "pandas") and type(source).__name__ == "DataFrame":
        from trueground.records.tables import clean_cells, decode_cells, read_frame

        return RowInput("data frame", lambda: read_frame(source), clean_cells, decode_cells)
    if isinstance(source, dict | bytes) or not hasattr(source, "__iter__"):
        raise InputError(
            f"cannot read records from a Python {type(source).__name__}; pass a path, several "
            "paths, a polars or pandas DataFrame, or an iterable of dicts"
        )
    if iter(source) is source:
        path = copies.write("objects", lambda out: _write_objects(source, out))
        return RowInput("records", lambda: _read_written(path))
    return RowInput("records", lambda: ((i, _as_dict(r)) for i, r in enumerate(source, 1)), clean)


def _as_dict(row: Any) -> dict[str, Any] | Problem:
    if isinstance(row, Record):
        return {k: v for k, v in msgspec.structs.asdict(row).items() if v is not None}
    if not isinstance(row, dict):
        row = model_fields(row) or row
    return row if isinstance(row, dict) else Problem(None, describe(row), "a dict or a Record")


def _write_objects(rows: Iterable[Any], out: IO[bytes]) -> None:
    """JSON lines for `_read_written`: an object, or a list with the pieces of a Problem."""
    for row in rows:
        line: Any = _as_dict(row)
        try:
            if isinstance(line, Problem):
                raise line
            line = clean(line)
        except Problem as problem:
            line = [problem.field, problem.found, problem.expected, known_id(row)]
        # Python's own encoder: it escapes, and so keeps, whatever a str can hold.
        out.write(json.dumps(line).encode() + b"\n")


def _read_written(path: Path) -> _Rows:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            row = json.loads(line)
            yield number, row if isinstance(row, dict) else Problem(*row)
