"""How passages are written to disk: one JSON line each, where it begins, and sorted hashes."""

from __future__ import annotations

import hashlib
import os
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from trueground.errors import InputError
from trueground.options import Progress
from trueground.retrieval.corpora.corpus import PassageEntry, entry_line, names_of
from trueground.retrieval.corpora.store_files import (
    FORMAT,
    LINES,
    META,
    OFFSETS,
    Meta,
    Sorted,
    decode_line,
    hash_of,
    mapped,
)

_TOLD_EVERY = 4_096
_BUFFERED = 1 << 16
_MOST = 1 << 32  # numbers are kept in 4 bytes


def write_store(
    folder: Path,
    entries: Iterable[PassageEntry],
    progress: Progress,
    made_from: str = "",
    notes: Sequence[str] = (),
) -> None:
    """Write all files of a store into an empty folder. Raises InputError and OSError.

    `notes` are looked at when all entries were read. In memory are one entry while they are read,
    and at the end 30 bytes for each passage, or 60 where pages are not called as their titles.
    """
    columns = {name: _Column(folder / f".{name}", code) for name, code in _COLUMNS.items()}
    try:
        count, size, digest = _write_lines(folder / LINES, entries, columns, progress)
        for column in columns.values():
            column.close()
        _offsets(folder, columns["offsets"], size)
        _ids(folder, columns["ids"])
        names = columns["names"].read(np.uint64)
        Sorted.write(folder, "names", names, columns["numbers"].read(np.uint32))
    finally:
        for column in columns.values():
            column.remove()
    meta = Meta(FORMAT, count, size, len(names), digest, made_from, tuple(notes))
    (folder / META).write_bytes(msgspec.json.encode(meta) + b"\n")


def _write_lines(
    path: Path, entries: Iterable[PassageEntry], columns: dict[str, _Column], progress: Progress
) -> tuple[int, int, str]:
    """(passages, bytes, SHA-256 in hex) of the lines that were written."""
    digest = hashlib.sha256()
    count = size = 0
    offsets, ids, names, numbers = columns.values()
    known: tuple[str | None, str | None] = (None, None)
    hashes: list[int] = []
    with path.open("wb", buffering=1 << 20) as out:
        for entry in entries:
            _check(entry, count)
            line = entry_line(entry)
            out.write(line)
            digest.update(line)
            offsets.add(size)
            ids.add(hash_of(entry.id))
            if (entry.title, entry.page) != known:
                known = (entry.title, entry.page)
                hashes = [hash_of(name) for name in names_of(*known)]
            for value in hashes:
                names.add(value)
                numbers.add(count)
            size += len(line)
            count += 1
            if count % _TOLD_EVERY == 0:
                progress("passages", count, None)
        out.flush()
        os.fsync(out.fileno())
    if not count:
        raise InputError("the corpus holds no passage; name files that hold some text")
    progress("passages", count, count)
    return count, size, digest.hexdigest()


def _check(entry: PassageEntry, number: int) -> None:
    if not entry.text or entry.text.isspace():
        raise InputError(
            f"passage {number} (counted from 0; id {entry.id!r}, page {entry.page!r}): found blank "
            "text; expected some characters: leave it out of the corpus"
        )
    if not entry.id or entry.id.isspace():
        raise InputError(
            f"passage {number} (counted from 0; page {entry.page!r}): found a blank id; expected "
            "some characters, or no ids at all"
        )
    if number >= _MOST:
        raise InputError(f"the corpus holds more than {_MOST:,} passages; split it into several")


def _offsets(folder: Path, column: _Column, size: int) -> None:
    """Where each line begins, and at last where all end."""
    starts = column.read(np.uint64)
    np.save(folder / OFFSETS, np.append(starts, np.uint64(size)))


def _ids(folder: Path, column: _Column) -> None:
    """The sorted hashes of ids. InputError: two passages with one id."""
    Sorted.write(folder, "ids", column.read(np.uint64), None)
    found = Sorted(folder, "ids")
    twice = np.flatnonzero(found.hashes[1:] == found.hashes[:-1])
    if not len(twice):
        return
    offsets = mapped(folder / OFFSETS)
    with (folder / LINES).open("rb") as lines:
        for numbers in _runs(found, twice):
            first: dict[str, int] = {}
            for number in numbers:
                lines.seek(int(offsets[number]))
                id_ = decode_line(lines.readline()).id
                if first.setdefault(id_, number) != number:
                    raise InputError(
                        f"passages {first[id_]} and {number} (counted from 0) have the same id "
                        f"{id_!r}; expected ids that differ: rename one, or leave all ids out"
                    )


def _runs(found: Sorted, twice: NDArray[np.intp]) -> Iterator[list[int]]:
    """The passages that share a hash, hash by hash."""
    for _, run in groupby(enumerate(map(int, twice)), lambda pair: pair[1] - pair[0]):
        places = [place for _, place in run]
        yield list(map(int, found.numbers[places[0] : places[-1] + 2]))


class _Column:
    """Whole numbers that are written to a file as they come."""

    def __init__(self, path: Path, code: str) -> None:
        self._path = path
        self._waiting = array(code)
        self._file = path.open("wb")

    def add(self, value: int) -> None:
        self._waiting.append(value)
        if len(self._waiting) == _BUFFERED:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._file.close()

    def read(self, kind: type[np.unsignedinteger[Any]]) -> NDArray[Any]:
        return np.fromfile(self._path, dtype=kind)

    def remove(self) -> None:
        self._file.close()
        self._path.unlink(missing_ok=True)

    def _flush(self) -> None:
        self._waiting.tofile(self._file)
        del self._waiting[:]


_COLUMNS = {"offsets": "Q", "ids": "Q", "names": "Q", "numbers": "I"}
