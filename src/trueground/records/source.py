"""Records from any source: one pass that checks every row, one that gives the records out.

Nothing is kept in memory between rows but counts, the first bad rows and 8 bytes per id.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, Self

from trueground.errors import BadRowsError, InputError, UsageError, unknown_name
from trueground.records.checks import Check, FileInfo, FileStamp, Tally
from trueground.records.duplicates import RepeatedIds, SeenIds
from trueground.records.mapping import ColumnMap, check_fields
from trueground.records.parts import Part, file_part, object_part
from trueground.records.problems import Problem
from trueground.records.rows import bad_row, read_rows
from trueground.records.spool import Spool, shown
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
        self._spool = Spool()
        self._checked: Check | None = None
        self._stamps: list[FileStamp] = []
        self._duplicates = array("Q")

    @property
    def name(self) -> str:
        """What is read, for messages: file names without passwords, or the kind of object."""
        if self._names is not None:
            return ", ".join(shown(name) for name in self._names)
        return "the records given"

    def check(self, progress: Callable[[int], None] | None = None) -> Check:
        """Reads every row once; `progress` is told the number of rows read so far.

        InputError: a file that cannot be read, no good row at all, a mapped column that is nowhere.
        BadRowsError: a bad row, where bad rows are not to be skipped.
        """
        tally, seen, columns = Tally(), SeenIds(), ColumnMap(self._mapping)
        self._duplicates = array("Q")
        parts = self._parts()
        self._stamps = [FileStamp(part.path) for part in parts if part.path]
        rows = 0
        for row in read_rows(parts, columns, self._limit):
            rows = row.ordinal + 1
            if isinstance(row.outcome, Record):
                tally.count(row.outcome)
                seen.add(row.outcome.id)
            else:
                tally.reject(row.ordinal, row.outcome)
            if progress and rows % _PROGRESS_EVERY == 0:
                progress(rows)
        if repeated := seen.repeated():
            self._find_duplicates(parts, repeated, tally)
        if progress:
            progress(rows)
        self._checked = self._conclude(tally, rows, columns, parts)
        return self._checked

    def batches(self, max_rows: int = 1024, max_chars: int = 8_000_000) -> Iterator[list[Record]]:
        """The good records in input order, checked before if that was not done yet.

        A batch holds at most `max_rows` records and `max_chars` characters of text, except that a
        longer record makes a batch of its own. InputError: a file changed since the check.
        """
        if self._checked is None:
            self.check()
        for stamp in self._stamps:
            stamp.require_same(self.name)
        batch: list[Record] = []
        chars = 0
        for record in self._good():
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
        self._spool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _parts(self) -> list[Part]:
        if self._names is None:
            return [object_part(self._source, self._spool)]
        return [file_part(n, self._spool, self._mapping, self._limit) for n in self._names]

    def _good(self) -> Iterator[Record]:
        duplicates = iter(self._duplicates)
        duplicate = next(duplicates, None)
        for row in read_rows(self._parts(), ColumnMap(self._mapping), self._limit):
            if row.ordinal == duplicate:
                duplicate = next(duplicates, None)
            elif isinstance(row.outcome, Record):
                yield row.outcome
            elif not self._skip:
                raise InputError(f"{self.name} changed while it was read: {row.outcome}")

    def _find_duplicates(self, parts: Sequence[Part], repeated: RepeatedIds, tally: Tally) -> None:
        """A second reading that takes the later rows of every repeated id for bad."""
        for row in read_rows(parts, ColumnMap(self._mapping), self._limit):
            record = row.outcome
            if not isinstance(record, Record):
                continue
            first = repeated.first_place(record.id, row.place)
            if first is None:
                continue
            problem = Problem(
                "id", f"the id {record.id!r} again (first in {first})", "an id that is unique"
            )
            self._duplicates.append(row.ordinal)
            tally.count(record, -1)
            tally.reject(row.ordinal, bad_row(row.part, row.number, record.id, problem))

    def _conclude(self, tally: Tally, rows: int, columns: ColumnMap, parts: list[Part]) -> Check:
        if not rows:
            raise InputError(f"{self.name} holds no records")
        columns.require_seen(self.name)
        bad = tally.bad_rows()
        if bad and not self._skip:
            raise BadRowsError(bad, tally.bad_total)
        if not tally.n:
            raise InputError(
                f"{self.name} holds no records: all {rows} rows are bad, first {bad[0]}"
            )
        files = [FileInfo.of(part.name, part.path) for part in parts if part.path]
        fields = tally.fields()
        return Check(
            n=tally.n,
            bad=bad,
            bad_total=tally.bad_total,
            fields=fields,
            groups=fields["group"] > 0,
            files=files,
            breakdowns=tally.breakdowns(),
        )


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
