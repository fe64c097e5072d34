"""What the first pass over the records gives: counts, the first bad rows, ids that repeat, files.

Of each id 8 bytes are kept. Only hashes that repeat lead to a second look, at the ids themselves,
so that two ids that merely share a hash are never called the same.
"""

from __future__ import annotations

import hashlib
import sys
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from operator import attrgetter, itemgetter
from pathlib import Path

import msgspec
import numpy as np

from trueground.errors import BadRow
from trueground.records.columns import OWN_FIELDS
from trueground.types import Record

BAD_ROWS_KEPT = 1000
_META_KEPT = 1000
_FIELDS = Record.__struct_fields__
_CONTEXTS = _FIELDS.index("contexts")
_QUESTION = _FIELDS.index("question")
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
    each field is given (contexts and questions that are not blank); `groups`: does any row name
    one? `breakdowns`: fields by which the rows can be grouped. `hints`: of fields that no good row
    has, which column may be meant. `sha256` is the checksum of the rows if they come from no file.
    """

    n: int
    bad: list[BadRow]
    bad_total: int
    fields: dict[str, int]
    groups: bool
    files: list[FileInfo]
    breakdowns: list[str] = []
    hints: dict[str, str] = {}
    sha256: str | None = None

    @classmethod
    def of_records(cls, records: Iterable[Record], files: Sequence[FileInfo]) -> Check:
        """Count records that are known to be good."""
        tally = Tally()
        for record in records:
            tally.count(record)
        return cls(tally.n, [], 0, tally.fields(), False, list(files), tally.breakdowns())

    def has_breakdown(self, field: str) -> bool:
        """Return whether rows can be grouped by a field, or by the `meta` key that it is in."""
        name = f"meta.{field.removeprefix('meta.')}"
        return field in self.breakdowns or any(
            name == known or name.startswith(f"{known}.") for known in self.breakdowns
        )


def file_stamp(path: Path) -> tuple[int, int] | None:
    """Size and time of a file, to notice that it changed between two passes; None without one."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


class Tally:
    """Counts of good rows and fields, and the first bad rows with their ordinals."""

    def __init__(self) -> None:
        self.n = 0
        self.bad_total = 0
        self.kinds: Counter[tuple[str, ...]] = Counter()  # like bad rows
        # Rows of one file give the same few sets of fields: counting sets is cheaper than fields.
        self._field_sets: Counter[tuple[bool, ...]] = Counter()
        self._meta: dict[str, None] = {}
        self._bad: list[tuple[int, BadRow]] = []

    def count(self, record: Record, step: int = 1) -> None:
        """Adds a good row; with step -1 takes it back."""
        self.n += step
        present = [value is not None for value in _values(record)]
        if record.contexts is not None and not any(p.text.strip() for p in record.contexts):
            present[_CONTEXTS] = False
        if record.question is not None and not record.question.strip():
            present[_QUESTION] = False
        self._field_sets[tuple(present)] += step
        if record.meta and len(self._meta) < _META_KEPT:
            self._meta.update(dict.fromkeys(record.meta))

    def update(self, other: Tally) -> None:
        """Adds what was counted in rows that follow these."""
        self.n += other.n
        self.bad_total += other.bad_total
        self.kinds += other.kinds
        self._field_sets.update(other._field_sets)
        room = max(0, _META_KEPT - len(self._meta))
        self._meta.update(dict.fromkeys(islice(other._meta, room)))
        self._bad += other._bad
        self.bad_rows()

    def fields(self) -> dict[str, int]:
        """In how many good rows each field is given."""
        return {
            field: sum(count for present, count in self._field_sets.items() if present[i])
            for i, field in enumerate(_FIELDS)
        }

    def breakdowns(self) -> list[str]:
        """Fields by which the records can be broken down; of `meta` only the first level."""
        fields = self.fields()
        return [n for n in OWN_FIELDS if fields[n]] + [f"meta.{key}" for key in self._meta]

    def reject(self, ordinal: int, row: BadRow) -> None:
        """Adds a bad row. Duplicates come after all others, so only sorting finds the first."""
        self.bad_total += 1
        if row.kind in self.kinds or len(self.kinds) < BAD_ROWS_KEPT:
            self.kinds[row.kind] += 1
        self._bad.append((ordinal, row))
        if len(self._bad) > 2 * BAD_ROWS_KEPT:
            self.bad_rows()

    def bad_rows(self) -> list[BadRow]:
        """The first bad rows in input order; the others are forgotten."""
        self._bad.sort(key=itemgetter(0))
        del self._bad[BAD_ROWS_KEPT:]
        return [row for _, row in self._bad]


def hash_id(record_id: str) -> bytes:
    """The 8-byte BLAKE2b digest of an id."""
    return hashlib.blake2b(record_id.encode(), digest_size=8).digest()


class SeenIds:
    """The hashes of all ids of a pass."""

    def __init__(self) -> None:
        self._hashes = array("Q")

    def add(self, record_id: str) -> None:
        """Notes one id."""
        self._hashes.frombytes(hash_id(record_id))

    def update(self, other: SeenIds) -> None:
        """Adds those of another pass."""
        self._hashes.extend(other._hashes)

    def repeated(self) -> RepeatedIds | None:
        """The hashes that were noted more than once, or None; forgets all others."""
        hashes = np.frombuffer(self._hashes, dtype=np.uint64)
        hashes.sort()
        twice = set(hashes[1:][hashes[1:] == hashes[:-1]].tolist())
        del hashes
        self._hashes = array("Q")
        return RepeatedIds(twice) if twice else None


class RepeatedIds:
    """Ids whose hash repeats; `first_place` tells true repeats from mere hash collisions.

    Memory grows with the number of different ids that occur more than once.
    """

    def __init__(self, hashes: set[int]) -> None:
        self._hashes = hashes
        self._places: dict[str, str] = {}

    def __contains__(self, record_id: str) -> bool:
        """Whether the hash of this id repeats."""
        return int.from_bytes(hash_id(record_id), sys.byteorder) in self._hashes

    def first_place(self, record_id: str, place: str) -> str | None:
        """Where this very id stood before; None (and it is noted) where it did not."""
        if record_id not in self:
            return None
        first = self._places.setdefault(record_id, place)
        return None if first is place else first
