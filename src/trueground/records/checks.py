"""What the first pass finds: counts, the first bad rows, and which files they came from."""

from __future__ import annotations

import hashlib
from collections import Counter
from operator import attrgetter
from pathlib import Path

import msgspec

from trueground.errors import BadRow, InputError
from trueground.records.fields import OWN_FIELDS
from trueground.types import Record

BAD_ROWS_KEPT = 1000
_META_KEPT = 1000
_FIELDS = Record.__struct_fields__
_CONTEXTS = _FIELDS.index("contexts")
_values = attrgetter(*_FIELDS)


class FileInfo(msgspec.Struct, frozen=True):
    """One input file as it stands in the manifest; `bytes` is its size on disk."""

    path: str
    sha256: str
    bytes: int

    @classmethod
    def of(cls, name: str, path: Path) -> FileInfo:
        """The checksum of the file at `path`, under the name that the user gave."""
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        return cls(name, digest, path.stat().st_size)


class Check(msgspec.Struct):
    """The outcome of a first pass.

    `n` good rows; `bad` the first 1,000 bad rows of `bad_total`; `fields` in how many good rows
    each field is given (contexts only where one is not blank); `groups`: does any row name one?
    `breakdowns`: fields by which the rows can be told apart.
    """

    n: int
    bad: list[BadRow]
    bad_total: int
    fields: dict[str, int]
    groups: bool
    files: list[FileInfo]
    breakdowns: list[str] = []


class FileStamp:
    """Size and time of a file, to notice that it changed between two passes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp = self._now()

    def require_same(self, name: str) -> None:
        """InputError where the file is not what it was."""
        if self._now() != self._stamp:
            raise InputError(f"{name} changed after it was checked; start again")

    def _now(self) -> tuple[int, int] | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_size, status.st_mtime_ns


class Tally:
    """Counts of good rows and fields, and the first bad rows with their ordinals."""

    def __init__(self) -> None:
        self.n = 0
        self.bad_total = 0
        # Rows of one file give the same few sets of fields: counting sets is cheaper than fields.
        self._given: Counter[tuple[bool, ...]] = Counter()
        self._meta: dict[str, None] = {}
        self._bad: list[tuple[int, BadRow]] = []

    def count(self, record: Record, step: int = 1) -> None:
        """Adds a good row; with step -1 takes it back."""
        self.n += step
        given = [value is not None for value in _values(record)]
        if record.contexts is not None and not any(p.text.strip() for p in record.contexts):
            given[_CONTEXTS] = False
        self._given[tuple(given)] += step
        if record.meta and len(self._meta) < _META_KEPT:
            self._meta.update(dict.fromkeys(record.meta))

    def fields(self) -> dict[str, int]:
        """In how many good rows each field is given."""
        return {
            field: sum(count for given, count in self._given.items() if given[i])
            for i, field in enumerate(_FIELDS)
        }

    def breakdowns(self) -> list[str]:
        """Fields by which the records can be broken down; of `meta` only the first level."""
        fields = self.fields()
        own = [name for name in OWN_FIELDS if fields[name]]
        return own + [f"meta.{key}" for key in self._meta]

    def reject(self, ordinal: int, row: BadRow) -> None:
        """Adds a bad row. Duplicates come after all others, so only sorting finds the first."""
        self.bad_total += 1
        self._bad.append((ordinal, row))
        if len(self._bad) > 2 * BAD_ROWS_KEPT:
            self._keep_first()

    def bad_rows(self) -> list[BadRow]:
        """The first bad rows in input order."""
        self._keep_first()
        return [row for _, row in self._bad]

    def _keep_first(self) -> None:
        self._bad.sort(key=lambda item: item[0])
        del self._bad[BAD_ROWS_KEPT:]
