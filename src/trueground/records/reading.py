"""Records from any source: one pass that checks every row, one that gives the records out.

Nothing is kept in memory between rows but counts, the first bad rows and 8 bytes per id.
"""

from __future__ import annotations

import hashlib
import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import msgspec

from trueground.errors import (
    BadRow,
    BadRowsError,
    InputError,
    UsageError,
    user_messages,
)
from trueground.net import redact_urls
from trueground.records.checks import Check, FileInfo, RepeatedIds, SeenIds, Tally, file_stamp
from trueground.records.column_names import ALIASES
from trueground.records.columns import ColumnMap, check_fields
from trueground.records.files import LocalCopies
from trueground.records.inputs import RowInput, file_input, object_input
from trueground.records.problems import (
    NO_FIELD,
    Problem,
    describe,
    known_id,
    to_record,
    too_deep,
    unwrap_fields,
)
from trueground.types import Record

_PROGRESS_EVERY = 1024
_ROWS_AHEAD = 100  # rows that are looked at before the first pass, for the names of the columns
_POLICIES = ("stop", "skip")


class RecordSource:
    """Records that can be read twice. `close` (or `with`) removes temporary copies at once."""

    def __init__(
        self,
        source: Any,
        mapping: dict[str, str],
        on_bad_row: str,
        limit: int | None,
        split_contexts: str | None = None,
    ) -> None:
        self._names = _file_names(source)
        self._source = source
        self._mapping = mapping
        self._skip = on_bad_row == "skip"
        self._limit = limit
        self._separator = split_contexts
        self._columns: list[ColumnMap] = []  # one a file
        self._copies = LocalCopies()
        self._checked: Check | None = None
        self._stamps: dict[Path, tuple[int, int] | None] = {}
        self._duplicates = array("Q")
        self._first = 0  # the ordinal of the first row
        self._digest = hashlib.sha256()  # of the records, unless they come from files

    @staticmethod
    def open(
        source: Any,
        *,
        mapping: Mapping[str, str] | None = None,
        on_bad_row: Literal["stop", "skip"] = "stop",
        limit: int | None = None,
        split_contexts: str | None = None,
    ) -> RecordSource:
        """Return the records of a source. Nothing is read yet.

        Args:
            source: A path, a URL, `-`, several of these, a data frame, or dicts and Records.
            mapping: The user's column of a field.
            on_bad_row: What a bad row does.
            limit: Only so many of the first rows are taken.
            split_contexts: Where contexts that are one text are cut.

        Raises:
            UsageError: An unknown field or policy, a limit below 1, or nothing to cut at.
        """
        check_fields(mapping or ())
        if on_bad_row not in _POLICIES:
            raise UsageError.unknown_name("policy for bad rows", on_bad_row, _POLICIES)
        if limit is not None and limit < 1:
            raise UsageError(f"the limit is {limit}; it must be at least 1 row")
        if split_contexts == "":
            raise UsageError(
                '--split-contexts is empty. Give the separator of the contexts, such as "|"'
            )
        return RecordSource(source, dict(mapping or {}), on_bad_row, limit, split_contexts)

    @property
    def name(self) -> str:
        """What is read, for messages: file names without passwords, or the kind of object."""
        if self._names is not None:
            return ", ".join(map(redact_urls, self._names))
        return "the records given"

    def check(self, progress: Callable[[int], None] | None = None) -> Check:
        """Reads every row; `progress` is called with the number of rows read so far.

        Says on standard error which columns are read under another name. InputError: a file that
        cannot be read, no good row at all, a mapped column that is nowhere. BadRowsError: a bad
        row, where bad rows are not to be skipped.
        """
        self._columns = []
        for each in self._inputs():
            self._columns.append(ColumnMap(self._mapping))
            look_ahead(each, self._columns[-1], self._limit)
        rows, tally, inputs = self._first_pass(progress)
        changed = [columns.settle() for columns in self._columns]
        if any(changed):
            # A column that stands in late rows only has changed what the others stand for.
            rows, tally, inputs = self._first_pass(progress)
        if progress:
            progress(rows)
        if not rows:
            raise InputError(f"{self.name} holds no records")
        columns = dict(zip((each.name for each in inputs), self._columns, strict=True))
        check = conclude(self.name, columns, tally, skip=self._skip)
        check.files = [FileInfo.of(each.name, each.path) for each in inputs if each.path]
        if self._names is None:
            check.sha256 = self._digest.hexdigest()
        self._checked = check
        return check

    def _first_pass(
        self, progress: Callable[[int], None] | None
    ) -> tuple[int, Tally, list[RowInput]]:
        """(number of rows, what they are, the inputs) of one reading of all."""
        self._duplicates = array("Q")
        inputs = self._inputs()
        self._stamps = {each.path: file_stamp(each.path) for each in inputs if each.path}
        rows, tally, seen = self._tally(inputs, progress)
        if repeated := seen.repeated():
            self._duplicates = reject_repeated(self.rows_with(repeated, inputs), repeated, tally)
        return rows, tally, inputs

    def _tally(
        self, inputs: Sequence[RowInput], progress: Callable[[int], None] | None = None
    ) -> tuple[int, Tally, SeenIds]:
        """(number of rows, what they are, their ids), repeated ids included."""
        tally, seen, rows = Tally(), SeenIds(), 0
        self._digest = hashlib.sha256()
        for ordinal, _, _, outcome in self._read_rows(inputs):
            rows += 1
            if isinstance(outcome, Record):
                tally.count(outcome)
                seen.add(outcome.id)
                if self._names is None:  # of a file the checksum is known
                    self._digest.update(msgspec.msgpack.encode(outcome))
            else:
                tally.reject(ordinal, outcome)
            if progress and rows % _PROGRESS_EVERY == 0:
                progress(rows)
        return rows, tally, seen

    def batches(self, max_rows: int = 1024, max_chars: int = 8_000_000) -> Iterator[list[Record]]:
        """The good records in input order, checked before if that was not done yet.

        A batch holds at most `max_rows` records and `max_chars` characters of text, except that a
        longer record makes a batch of its own. InputError: a file changed since the check.
        """
        if self._checked is None:
            self.check()
        if any(file_stamp(path) != stamp for path, stamp in self._stamps.items()):
            raise InputError(f"{self.name} changed after it was checked; start again")
        yield from self._batched(max_rows, max_chars)

    def _batched(self, max_rows: int = 1024, max_chars: int = 8_000_000) -> Iterator[list[Record]]:
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
        columns = self._columns or [ColumnMap(self._mapping)] * len(self._names)
        return [
            file_input(name, self._copies, one.column("response"), self._limit)
            for name, one in zip(self._names, columns, strict=True)
        ]

    def _read_rows(
        self, inputs: Sequence[RowInput]
    ) -> Iterator[tuple[int, RowInput, int, Record | BadRow]]:
        """(0-based ordinal, input, number there, record or bad row) up to the limit, in order."""
        ordinal = self._first
        for each, columns in zip(inputs, self._columns, strict=True):
            with closing(each.rows()) as rows:
                for number, value in rows:
                    outcome = _parse_row(each, number, value, ordinal, columns, self._separator)
                    yield ordinal, each, number, outcome
                    ordinal += 1
                    if ordinal == self._limit:
                        return

    def _good_records(self) -> Iterator[Record]:
        duplicates = iter(self._duplicates)
        duplicate = next(duplicates, None)
        for ordinal, _, _, outcome in self._read_rows(self._inputs()):
            if ordinal == duplicate:
                duplicate = next(duplicates, None)
            elif isinstance(outcome, Record):
                yield outcome
            elif not self._skip:
                raise InputError(f"{self.name} changed while it was read: {outcome}")

    def rows_with(self, repeated: RepeatedIds, inputs: Sequence[RowInput]) -> Iterator[RowWithId]:
        """The rows with an id whose hash is among these, in order."""
        for ordinal, each, number, record in self._read_rows(inputs):
            if isinstance(record, Record) and record.id in repeated:
                yield RowWithId(ordinal, each.place(number), each.name, number, each.unit, record)


class RowWithId(NamedTuple):
    """A row whose id may stand in another place too: where it is, and what it holds."""

    ordinal: int
    place: str
    file: str
    number: int
    unit: str
    record: Record


def reject_repeated(rows: Iterable[RowWithId], repeated: RepeatedIds, tally: Tally) -> array[int]:
    """Take the later rows of every id for bad, and give their ordinals; `rows` are in order."""
    found = array("Q")
    for row in rows:
        id_ = row.record.id
        if (first := repeated.first_place(id_, row.place)) is not None:
            found.append(row.ordinal)
            tally.count(row.record, -1)
            what = "id", f"the id {id_!r} again (first in {first})", "an id that is unique"
            tally.reject(row.ordinal, BadRow(row.file, row.number, id_, *what, row.unit))
    return found


def look_ahead(source: RowInput, columns: ColumnMap, limit: int | None = None) -> None:
    """Find out from the first rows of a file what its columns stand for."""
    with closing(source.rows()) as rows:
        for _, value in islice(rows, min(_ROWS_AHEAD, limit or _ROWS_AHEAD)):
            try:
                columns.add(source.read(value))
            except (Problem, RecursionError):
                continue  # the pass will name it
    columns.settle()


def conclude(name: str, columns: Mapping[str, ColumnMap], tally: Tally, *, skip: bool) -> Check:
    """What a pass over all rows comes to, without the files; `columns` are those of each file.

    Says on standard error which columns are read under another name. Raises as
    `RecordSource.check` does.
    """
    _tell_columns(columns)
    maps = list(columns.values())
    _require_mapped(name, maps)
    bad, fields = tally.bad_rows(), tally.fields()
    absent = [field for field, count in fields.items() if not count and field in ALIASES]
    hints = {field: hint for field in absent if (hint := maps[0].hint(field))}
    advice = f"response: {hints['response']}" if "response" in hints else ""
    if bad and not skip:
        raise BadRowsError(bad, tally.bad_total, tally.kinds, advice)
    if not tally.n:
        advice = advice and f"\n{advice}"
        raise InputError(
            f"{name} holds no records: all {tally.bad_total} rows are bad, first {bad[0]}{advice}"
        )
    return Check(
        n=tally.n,
        bad=bad,
        bad_total=tally.bad_total,
        fields=fields,
        groups=fields["group"] > 0,
        files=[],
        breakdowns=tally.breakdowns(),
        hints=hints,
    )


def _tell_columns(columns: Mapping[str, ColumnMap]) -> None:
    """Which columns are not called as we call them; a line a file where they differ."""
    texts = {name: one.describe() for name, one in columns.items()}
    if len(set(texts.values())) == 1:
        texts = {"": next(iter(texts.values()))}
    for name, text in texts.items():
        if text:
            user_messages.show(
                f"columns of {name}: {text}" if name else f"columns: {text}", note=True
            )


def _require_mapped(file: str, columns: Sequence[ColumnMap]) -> None:
    """InputError for the first mapped column that stood in no row of any file."""
    seen = set[str]().union(*(one.seen for one in columns))
    names = dict.fromkeys(name for one in columns for name in one.shapes.names)
    for field, column in (columns[0].mapping if columns else {}).items():
        if field not in seen:
            hint = InputError.suggest(column, names)
            raise InputError(
                f"{file}: no row has the column {column!r} that is mapped to {field!r}.{hint} "
                f"Columns found: {', '.join(names) or 'none'}."
            )


def _parse_row(
    source: RowInput,
    number: int,
    value: Any,
    ordinal: int,
    columns: ColumnMap,
    separator: str | None,
) -> Record | BadRow:
    row, own = value, list[str]()
    try:
        row = source.read(value)
        own = list(row)  # before they are renamed: an error names the file's columns
        row, displaced, members = columns.apply(row)
        if separator is not None:
            from trueground.records.tables import split_cell

            split_cell(row, separator)
        row = source.decode_cells(row)
        if members:  # labels join those of the field `human`, which is JSON in a cell until now
            displaced |= columns.place_members(row, members)
        unwrap_fields(row)
        return to_record(row, displaced, ordinal)
    except RecursionError:
        return source.bad_row(number, None, too_deep())
    except Problem as problem:
        known = problem.row_id
        if problem.field == "response" and problem.found.startswith(NO_FIELD):
            problem.found = f"{NO_FIELD} in {describe(dict.fromkeys(own))}"
        if isinstance(row, dict):
            known = known_id(row) or known_id({"id": row.get(columns.column("id"))})
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
