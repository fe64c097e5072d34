"""Files in parts: cut once, read by many processes, each its own part and nothing else."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from trueground.errors import InputError
from trueground.net import redact_urls
from trueground.records.checks import RepeatedIds, SeenIds, Tally
from trueground.records.columns import ColumnMap
from trueground.records.files import (
    LocalCopies,
    is_remote,
    open_range,
    reading,
    require_readable,
)
from trueground.records.inputs import FilePart, RowInput, part_input, splittable
from trueground.records.problems import Problem
from trueground.records.reading import RecordSource, RowWithId, look_ahead
from trueground.records.tables import count_parquet
from trueground.types import Record

_DIGEST_BYTES = 16
_SEARCHED = 1 << 16  # bytes that are read at once to find the end of a line


class FileState(msgspec.Struct, frozen=True):
    """A file as it was when it was cut. `mark` tells a change: its time, or a store's etag."""

    name: str
    bytes: int
    mark: str


class PartRows(NamedTuple):
    """How many numbers (lines or rows) a part of a file takes, and how many of them hold a row."""

    numbers: int
    rows: int


class PartCheck(NamedTuple):
    """What the rows of some parts are, their ids, the columns and the checksum of each part."""

    tally: Tally
    seen: SeenIds
    columns: list[ColumnMap]
    digests: list[str]


def file_state(name: str) -> FileState:
    """The size and mark of a path or URL. InputError: it is not there, or tells no size."""
    public = redact_urls(name)
    if not is_remote(name):
        require_readable(Path(name), name)
        status = Path(name).stat()
        return FileState(public, status.st_size, f"time {status.st_mtime_ns}")
    import fsspec

    with reading(public, name):
        files, path = fsspec.core.url_to_fs(name)
        info: dict[str, Any] = files.info(path)
    if not info.get("size"):
        raise InputError(f"{public} is empty or has no known size, so it can't be split into parts")
    mark = next((f"{k} {info[k]}" for k in ("ETag", "etag", "md5Hash", "LastModified", "mtime")
                 if info.get(k)), "")  # fmt: skip
    return FileState(public, int(info["size"]), mark.replace('"', ""))


def cut_files(
    names: Sequence[str], states: Sequence[FileState], parts: int
) -> list[list[FilePart]]:
    """All rows in `parts` parts of about equal size, in order; some may be empty.

    JSON lines are cut at line ends, Parquet between rows; any other file, or a packed one, goes as
    a whole to the part in which it begins.
    """
    total = sum(state.bytes for state in states)
    found: list[list[FilePart]] = [[] for _ in range(parts)]
    before = 0
    for name, state in zip(names, states, strict=True):
        kind, size = splittable(name), state.bytes
        if kind is None:
            found[before * parts // total].append(FilePart(name))
        else:
            units = size if kind == "lines" else count_parquet(name, state.name)
            # Where in this file each part begins, and where the last one ends.
            starts = [min(max(total * k // parts - before, 0), size) for k in range(parts + 1)]
            if kind == "lines":
                places = [_next_line(name, start, size) for start in starts]
            else:
                places = [start * units // size for start in starts]
            for part, (low, high) in enumerate(pairwise(places)):
                if low < high:
                    found[part].append(FilePart(name, low, high))
        before += size
    return found


def find_columns(
    names: Sequence[str], states: Sequence[FileState], mapping: Mapping[str, str]
) -> dict[str, ColumnMap]:
    """What the columns of each file stand for by its first rows, by the file's name. InputError."""
    found = {}
    copies = LocalCopies()
    try:
        for name, state in zip(names, states, strict=True):
            part = FilePart(name, 0, state.bytes) if splittable(name) else FilePart(name)
            found[name] = ColumnMap(mapping)
            look_ahead(part_input(part, copies), found[name])
    finally:
        copies.close()
    return found


def _next_line(name: str, place: int, size: int) -> int:
    """The first beginning of a line at this place or behind it."""
    if place in (0, size):
        return place
    at = place - 1
    while at < size:
        high = min(at + _SEARCHED, size)
        with open_range(name, at, high) as stream:
            found = stream.read().find(b"\n")
        if found >= 0:
            return at + found + 1
        at = high
    return size


class RowDigest:
    """The checksum of the rows of one part, of whatever format, taken as they are read."""

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=_DIGEST_BYTES)

    def watch(self, source: RowInput) -> RowInput:
        """Return the input; its rows are added as they are read."""

        def rows() -> Generator[tuple[int, Any], None, None]:
            with closing(source.rows()) as all_rows:
                for number, value in all_rows:
                    content = value if isinstance(value, bytes) else _as_bytes(value)
                    self._hash.update(b"%d %d " % (number, len(content)))
                    self._hash.update(content)
                    yield number, value

        return replace(source, rows=rows)

    def hexdigest(self) -> str:
        """Return the checksum of the rows that were read so far."""
        return self._hash.hexdigest()


def _as_bytes(value: Any) -> bytes:
    """A row of a table, or what is wrong with a row."""
    if isinstance(value, Problem):
        value = value.field, value.found, value.expected
    return repr(value).encode("utf-8", "backslashreplace")


class PartSource(RecordSource):
    """Records of some parts of files, of which the first row has the ordinal `first`.

    `columns` tell what the columns of each file stand for, by its name.
    """

    def __init__(
        self,
        parts: Sequence[FilePart],
        columns: Mapping[str, ColumnMap],
        *,
        skip: bool,
        split_contexts: str | None = None,
        first: int = 0,
        duplicates: Sequence[int] = (),
    ) -> None:
        names = [part.name for part in parts]
        super().__init__(names, {}, "skip" if skip else "stop", None, split_contexts)
        self._parts = parts
        self._columns = [columns[part.name] for part in parts]
        self._first = first
        self._duplicates = array("Q", duplicates)
        self._digests: list[RowDigest] = []

    def count(self) -> list[PartRows]:
        """The rows of each part. InputError."""
        return [
            _count_rows(each)
            if part.high is None
            else _count_lines(part.name, part.low, part.high)
            if splittable(part.name) == "lines"
            else PartRows(part.high - part.low, part.high - part.low)
            for part, each in zip(self._parts, self._inputs(), strict=True)
        ]

    def check_rows(self) -> PartCheck:
        """Read and check every row. InputError."""
        _, tally, seen = self._tally(self._inputs())
        return PartCheck(tally, seen, self._columns, self.digests)

    @property
    def digests(self) -> list[str]:
        """The checksum of each part's rows, as the last pass over all of them read it."""
        return [digest.hexdigest() for digest in self._digests]

    def repeated_rows(self, repeated: RepeatedIds) -> list[RowWithId]:
        """The rows with an id whose hash is among these."""
        return list(self.rows_with(repeated, self._inputs()))

    def batches(self, max_rows: int = 1024, max_chars: int = 8_000_000) -> Iterator[list[Record]]:
        """As its base does, of files that were checked elsewhere."""
        return self._batched(max_rows, max_chars)

    def _inputs(self) -> list[RowInput]:
        self._digests = [RowDigest() for _ in self._parts]
        return [
            digest.watch(part_input(part, self._copies, columns.column("response")))
            for part, columns, digest in zip(self._parts, self._columns, self._digests, strict=True)
        ]


def _count_lines(name: str, low: int, high: int) -> PartRows:
    lines = rows = 0
    with open_range(name, low, high) as stream:
        for line in stream:
            lines += 1
            rows += not line.isspace()
    return PartRows(lines, rows)


def _count_rows(source: RowInput) -> PartRows:
    last = rows = 0
    with closing(source.rows()) as found:
        for last, _ in found:  # noqa: B007
            rows += 1
    return PartRows(last, rows)
