"""Records from any source: one pass that checks every row, one that gives the records out.

Nothing is kept in memory between rows but counts, the first bad rows and 8 bytes per id.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal, Self

from trueground.errors import BadRowsError, InputError, UsageError, unknown_name
from trueground.net.redact import redact_urls
from trueground.records.checks import Check, FileInfo, RepeatedIds, SeenIds, Tally, file_stamp
from trueground.records.columns import ColumnMap, check_fields
from trueground.records.files import LocalCopies, data_files
from trueground.records.inputs import RowInput, file_input, object_input
from trueground.records.problems import PlacedRow, Problem, known_id, too_deep
from trueground.records.schema import to_record
from trueground.types import Record

__all__ = ["Check", "FileInfo", "RecordSource", "open_records"]

_PROGRESS_EVERY = 1024
_POLICIES = ("stop", "skip")


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

    def _inputs(self) -> list[RowInput]:
        if self._names is None:
            return [object_input(self._source, self._copies)]
        response = self._mapping.get("response", "response")
        return [file_input(n, self._copies, response, self._limit) for n in self._names]

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
        self, inputs: Sequence[RowInput], repeated: RepeatedIds, tally: Tally
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
        source = file_input(str(file), copies)
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


def _read_rows(
    inputs: Sequence[RowInput], columns: ColumnMap, limit: int | None
) -> Iterator[tuple[int, RowInput, int, Record | PlacedRow]]:
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
    source: RowInput, number: int, value: Any, ordinal: int, columns: ColumnMap
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
