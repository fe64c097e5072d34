"""Records from any source: one pass that checks every row, one that gives the records out.

Nothing is kept in memory between rows but counts, the first bad rows and 8 bytes per id.
"""

from __future__ import annotations

import io
import json
import os
import shutil
from array import array
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, Any, Literal, Self
from urllib.parse import urlsplit

import msgspec

from trueground.errors import BadRowsError, InputError, UsageError, unknown_name
from trueground.records.checks import Check, FileInfo, RepeatedIds, SeenIds, Tally, file_stamp
from trueground.records.columns import ColumnMap, check_fields
from trueground.records.files import (
    KINDS,
    PACKINGS,
    STDIN,
    LocalCopies,
    data_files,
    inner_ending,
    is_remote,
    open_unpacked,
    packing_of,
    redact_urls,
    require_readable,
)
from trueground.records.jsonl import RECORD, decode_row, read_array, read_lines, read_members
from trueground.records.problems import PlacedRow, Problem, clean, describe, known_id, too_deep
from trueground.records.schema import to_record
from trueground.records.tables import (
    clean_cells,
    decode_cells,
    read_csv,
    read_frame,
    read_parquet,
)
from trueground.types import Record

__all__ = ["Check", "FileInfo", "RecordSource", "open_records"]

_PROGRESS_EVERY = 1024
_POLICIES = ("stop", "skip")
_Convert = Callable[[dict[str, Any]], dict[str, Any]]
_Rows = Generator[tuple[int, Any], None, None]


def open_records(
    source: Any,
    *,
    mapping: Mapping[str, str] | None = None,
    on_bad_row: Literal["stop", "skip"] = "stop",
    limit: int | None = None,
) -> RecordSource:
    """Records of a path, a URL, `-`, several of these, a data frame, or dicts and Records.

    Reads nothing yet. `mapping` names the user's column of a field, `limit` takes only the first
    rows. UsageError: an unknown field or policy, a limit below 1.
    """
    check_fields(mapping or ())
    if on_bad_row not in _POLICIES:
        raise unknown_name("policy for bad rows", on_bad_row, _POLICIES)
    if limit is not None and limit < 1:
        raise UsageError(f"the limit is {limit}; it must be at least 1 row")
    return RecordSource(source, dict(mapping or {}), on_bad_row, limit)


class RecordSource:
    """Records that can be read twice. `close` (or `with`) removes temporary copies at once."""

    def __init__(
        self, source: Any, mapping: dict[str, str], on_bad_row: str, limit: int | None
    ) -> None:
        self._names = _file_names(source)
        self._source = source
        self._mapping = mapping
        self._skip = on_bad_row == "skip"
        self._limit = limit
        self._copies = LocalCopies()
        self._checked: Check | None = None
        self._stamps: dict[Path, tuple[int, int] | None] = {}
        self._duplicates = array("Q")

    @property
    def name(self) -> str:
        """What is read, for messages: file names without passwords, or the kind of object."""
        if self._names is not None:
            return ", ".join(map(redact_urls, self._names))
        return "the records given"

    def check(self, progress: Callable[[int], None] | None = None) -> Check:
        """Reads every row once; `progress` is called with the number of rows read so far.

        InputError: a file that cannot be read, no good row at all, a mapped column that is nowhere.
        BadRowsError: a bad row, where bad rows are not to be skipped.
        """
        tally, seen, columns = Tally(), SeenIds(), ColumnMap(self._mapping)
        self._duplicates = array("Q")
        inputs = self._inputs()
        self._stamps = {each.path: file_stamp(each.path) for each in inputs if each.path}
        rows = 0
        for ordinal, _, _, outcome in _read_rows(inputs, columns, self._limit):
            rows = ordinal + 1
            if isinstance(outcome, Record):
                tally.count(outcome)
                seen.add(outcome.id)
            else:
                tally.reject(ordinal, outcome)
            if progress and rows % _PROGRESS_EVERY == 0:
                progress(rows)
        if repeated := seen.repeated():
            self._reject_duplicates(inputs, repeated, tally)
        if progress:
            progress(rows)
        if not rows:
            raise InputError(f"{self.name} holds no records")
        columns.require_seen(self.name)
        bad, fields = tally.bad_rows(), tally.fields()
        if bad and not self._skip:
            raise BadRowsError(bad, tally.bad_total)
        if not tally.n:
            raise InputError(
                f"{self.name} holds no records: all {rows} rows are bad, first {bad[0]}"
            )
        self._checked = Check(
            n=tally.n,
            bad=bad,
            bad_total=tally.bad_total,
            fields=fields,
            groups=fields["group"] > 0,
            files=[FileInfo.of(each.name, each.path) for each in inputs if each.path],
            breakdowns=tally.breakdowns(),
        )
        return self._checked

    def batches(self, max_rows: int = 1024, max_chars: int = 8_000_000) -> Iterator[list[Record]]:
        """The good records in input order, checked before if that was not done yet.

        A batch holds at most `max_rows` records and `max_chars` characters of text, except that a
        longer record makes a batch of its own. InputError: a file changed since the check.
        """
        if self._checked is None:
            self.check()
        if any(file_stamp(path) != stamp for path, stamp in self._stamps.items()):
            raise InputError(f"{self.name} changed after it was checked; start again")
        batch: list[Record] = []
        chars = 0
        for record in self._good_records():
            size = _text_size(record)
            if batch and (len(batch) >= max_rows or chars + size > max_chars):
                yield batch
                batch, chars = [], 0
            batch.append(record)
            chars += size
        if batch:
            yield batch

    def close(self) -> None:
        """Removes the temporary copies of standard input, pipes and remote files."""
        self._copies.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _inputs(self) -> list[_Input]:
        if self._names is None:
            return [_object_input(self._source, self._copies)]
        response = self._mapping.get("response", "response")
        return [_file_input(n, self._copies, response, self._limit) for n in self._names]

    def _good_records(self) -> Iterator[Record]:
        duplicates = iter(self._duplicates)
        duplicate = next(duplicates, None)
        rows = _read_rows(self._inputs(), ColumnMap(self._mapping), self._limit)
        for ordinal, _, _, outcome in rows:
            if ordinal == duplicate:
                duplicate = next(duplicates, None)
            elif isinstance(outcome, Record):
                yield outcome
            elif not self._skip:
                raise InputError(f"{self.name} changed while it was read: {outcome}")

    def _reject_duplicates(
        self, inputs: Sequence[_Input], repeated: RepeatedIds, tally: Tally
    ) -> None:
        """A second reading that takes the later rows of every repeated id for bad."""
        rows = _read_rows(inputs, ColumnMap(self._mapping), self._limit)
        for ordinal, each, number, record in rows:
            if not isinstance(record, Record):
                continue
            first = repeated.first_place(record.id, each.place(number))
            if first is not None:
                problem = Problem(
                    "id", f"the id {record.id!r} again (first in {first})", "an id that is unique"
                )
                self._duplicates.append(ordinal)
                tally.count(record, -1)
                tally.reject(ordinal, each.bad_row(number, record.id, problem))


def plain_rows(path: Path) -> Generator[tuple[str, dict[str, Any]], None, None]:
    """(place such as `a.jsonl, line 3`, row) of a file, or of all data files of a folder.

    JSON lines, a JSON array, CSV or Parquet, also packed. Empty cells are left out. InputError: a
    file or a row that cannot be read.
    """
    for file in data_files(path):
        with closing(file_rows(file, "one JSON object")) as rows:
            for place, _, row in rows:
                if isinstance(row, Problem):
                    raise InputError(row.message(place))
                yield place, row


def file_rows(
    file: Path, expected: str
) -> Generator[tuple[str, int, dict[str, Any] | Problem], None, None]:
    """(place, number, row or what is wrong with it) of a data file. InputError: it is unreadable.

    `expected` says what a row is, for those that are none.
    """
    copies = LocalCopies()
    try:
        source = _file_input(str(file), copies)
        with closing(source.rows()) as rows:
            for number, value in rows:
                row: dict[str, Any] | Problem
                try:
                    row = source.decode_cells(source.read(value, expected))
                except Problem as problem:
                    row = problem
                yield source.place(number), number, row
    finally:
        copies.close()


def _keep(row: dict[str, Any]) -> dict[str, Any]:
    return row


@dataclass(frozen=True)
class _Input:
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

    def bad_row(self, number: int, row_id: str | None, problem: Problem) -> PlacedRow:
        """The account of a problem, with its place."""
        return PlacedRow(
            file=self.name,
            row=number,
            id=row_id,
            field=problem.field,
            found=problem.found,
            expected=problem.expected,
            unit=self.unit,
        )


def _read_rows(
    inputs: Sequence[_Input], columns: ColumnMap, limit: int | None
) -> Iterator[tuple[int, _Input, int, Record | PlacedRow]]:
    """(0-based ordinal, input, number there, record or bad row) up to the limit, in input order."""
    ordinal = 0
    for each in inputs:
        with closing(each.rows()) as rows:
            for number, value in rows:
                yield ordinal, each, number, _parse_row(each, number, value, ordinal, columns)
                ordinal += 1
                if ordinal == limit:
                    return


def _parse_row(
    source: _Input, number: int, value: Any, ordinal: int, columns: ColumnMap
) -> Record | PlacedRow:
    row = value
    try:
        row = source.read(value)
        displaced: dict[str, Any] | None = None
        members: dict[str, Any] | None = None
        if columns.mapping:
            row, displaced, members = columns.apply(row)
        row = source.decode_cells(row)
        if members:  # labels join those of the field `human`, which is JSON in a cell until now
            displaced = (displaced or {}) | columns.place_members(row, members)
        return to_record(row, displaced, ordinal)
    except RecursionError:
        return source.bad_row(number, None, too_deep())
    except Problem as problem:
        known = problem.row_id
        if isinstance(row, dict):
            known = known_id(row) or known_id({"id": row.get(columns.mapping.get("id", "id"))})
        return source.bad_row(number, known, problem)


def _file_names(source: Any) -> list[str] | None:
    """The paths in the source, or None where it holds the records themselves."""
    if isinstance(source, str | os.PathLike):
        return [os.fspath(source)]
    if not isinstance(source, list | tuple) or not source:
        return None
    if not all(isinstance(item, str | os.PathLike) for item in source):
        return None
    return [os.fspath(item) for item in source]


def _text_size(record: Record) -> int:
    """The characters of the texts that can be long."""
    size = len(record.response) + len(record.question or "")
    size += sum(len(passage.text) for passage in record.contexts or ())
    size += sum(len(turn.content) for turn in record.history or ())
    for texts in (record.references, record.gold_facts, record.response_facts):
        size += sum(map(len, texts or ()))
    return size


def _file_input(
    name: str, copies: LocalCopies, response: str = "response", limit: int | None = None
) -> _Input:
    """The input of a path, a URL or `-`; remote files and pipes are copied first. InputError.

    `response` is the column whose empty cells are kept.
    """
    path, label = _local_path(name, copies), redact_urls(name)
    kind, packing = ("lines", "") if name == STDIN else _format_of(name)
    if kind == "sniff":
        kind = _sniff(path, packing, label)

    def text_rows() -> _Rows:
        with open_unpacked(path, packing, label) as stream:
            if kind == "lines":
                yield from read_lines(stream, label)
            elif kind == "members":
                yield from _read_answers(stream, label)
            elif kind == "array":
                yield from read_array(stream, label)
            else:
                yield from read_csv(stream, label, "\t" if kind == "tsv" else ",", response)

    def parquet_rows() -> _Rows:
        whole = path
        if packing:  # the format is read at random
            with open_unpacked(path, packing, label) as stream:
                whole = copies.write(
                    f"{name} unpacked", lambda out: shutil.copyfileobj(stream, out)
                )
        yield from read_parquet(whole, label, limit)

    if kind == "parquet":
        return _Input(label, parquet_rows, clean_cells, decode_cells, path)
    if kind in ("csv", "tsv"):
        return _Input(label, text_rows, decode_cells=decode_cells, path=path)
    return _Input(label, text_rows, path=path, unit="line" if kind == "lines" else "row")


def _local_path(name: str, copies: LocalCopies) -> Path:
    """A local, seekable file with the content of `name`."""
    if name == STDIN or is_remote(name):
        path = copies.fetch(name)
        if not path.stat().st_size:
            label = "standard input" if name == STDIN else redact_urls(name)
            raise InputError(f"{label} is empty; it holds no records")
        return path
    path = Path(name)
    require_readable(path, name)
    return path if path.is_file() else copies.fetch(name)


def _format_of(name: str) -> tuple[str, str]:
    """The format and the packing that a file name stands for; an unknown ending is sniffed."""
    bare = urlsplit(name).path if name.startswith(("http://", "https://")) else name
    file = PurePosixPath(bare.lower().replace("\\", "/"))
    return KINDS.get(inner_ending(file), "sniff"), packing_of(file)


def _sniff(path: Path, packing: str, name: str) -> str:
    """`array`, `members` or `lines`, by the first byte that is not blank, and the first member."""
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
            f"{name}: cannot tell its format: it begins neither with [ nor with {{. Known endings: "
            f"{endings}, each also with {' or '.join(PACKINGS)}"
        )
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
            yield number, {"id": key, "response": value.pop("output")} | value
        else:
            yield number, Problem(None, f"{describe(value)} under {key!r}", "input and output")


def _object_input(source: Any, copies: LocalCopies) -> _Input:
    """The input of a data frame, or of an iterable of dicts and Records. InputError.

    Objects of an iterator are written to a file first, since they are read twice.
    """
    library = type(source).__module__.partition(".")[0]
    if library in ("polars", "pandas") and type(source).__name__ == "DataFrame":
        return _Input("data frame", lambda: read_frame(source), clean_cells, decode_cells)
    if isinstance(source, dict | bytes) or not hasattr(source, "__iter__"):
        raise InputError(
            f"cannot read records from a Python {type(source).__name__}; pass a path, several "
            "paths, a polars or pandas DataFrame, or an iterable of dicts"
        )
    if iter(source) is source:
        path = copies.write("objects", lambda out: _write_objects(source, out))
        return _Input("records", lambda: _read_written(path))
    return _Input("records", lambda: ((i, _as_dict(r)) for i, r in enumerate(source, 1)), clean)


def _as_dict(row: Any) -> dict[str, Any] | Problem:
    if isinstance(row, Record):
        return {k: v for k, v in msgspec.structs.asdict(row).items() if v is not None}
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
