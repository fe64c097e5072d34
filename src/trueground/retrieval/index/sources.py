"""The files that a corpus is read from: what they hold, and whether that has changed since."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from trueground.errors import InputError
from trueground.net.files import file_digest
from trueground.options import Progress, no_progress
from trueground.retrieval.corpora.reading import CorpusReading, corpus_files

_FRESH_NS = 2_000_000_000  # some file systems count in steps of two seconds


class SourceFile(msgspec.Struct, frozen=True):
    """A file: its path below the corpus (its name, where it is the corpus), and its content."""

    path: str
    bytes: int
    mtime_ns: int
    sha256: str


class Seen(NamedTuple):
    """Files as they were from `time_ns` on, in nanoseconds since 1970."""

    files: list[SourceFile]
    time_ns: int


def source_files(
    source: Path, reading: CorpusReading, progress: Progress = no_progress
) -> list[SourceFile]:
    """The files that a corpus is read from, in their order. InputError: none, one unreadable."""
    places = corpus_files(source, reading)
    found = []
    for number, place in enumerate(places):
        progress("see", number, len(places))
        try:
            stat = place.stat()
            digest = file_digest(place)
        except OSError as error:
            raise _unreadable(place, error) from error
        found.append(SourceFile(_name(source, place), stat.st_size, stat.st_mtime_ns, digest))
    progress("see", len(places), len(places))
    return found


def check(source: Path, reading: CorpusReading, progress: Progress = no_progress) -> Seen:
    """`source_files`, and when that was. InputError."""
    now = time.time_ns()
    return Seen(source_files(source, reading, progress), now)


def content_key(files: Sequence[SourceFile]) -> str:
    """A hash of the files' names and content, wherever they lie and however old they are."""
    names = [(file.path, file.sha256) for file in files]
    return hashlib.sha256(msgspec.json.encode(names)).hexdigest()


def difference(
    source: Path,
    known: Sequence[SourceFile],
    reading: CorpusReading | None,
    seen_ns: int | None = None,
) -> str | None:
    """Which file is another than before, in words; None where all are the same, or all are gone.

    A file with another time is read, and is the same if its content is. So is one that was written
    less than two seconds before `seen_ns`, the time when `known` was made: it may have been written
    again without another time. `reading` is that of the index, None where this version has none
    such. InputError.
    """
    if not source.exists():
        return None
    fresh = None if seen_ns is None else seen_ns - _FRESH_NS
    before = {file.path: file for file in known}
    here = {
        _name(source, place): place for place in corpus_files(source, reading or CorpusReading())
    }
    for name in sorted(before.keys() | here.keys()):
        if name not in here:
            return f"{source / name if source.is_dir() else source.parent / name} is gone"
        if name not in before:
            return f"{here[name]} is new"
        if not _same(here[name], before[name], fresh):
            return f"{here[name]} has changed"
    return None


def _same(place: Path, before: SourceFile, fresh_ns: int | None) -> bool:
    try:
        stat = place.stat()
        if stat.st_size != before.bytes:
            return False
        settled = fresh_ns is None or stat.st_mtime_ns < fresh_ns
        if settled and stat.st_mtime_ns == before.mtime_ns:
            return True
        return file_digest(place) == before.sha256
    except OSError as error:
        raise _unreadable(place, error) from error


def _name(source: Path, place: Path) -> str:
    return place.name if place == source else place.relative_to(source).as_posix()


def _unreadable(path: Path, error: OSError) -> InputError:
    return InputError(
        f"{path} cannot be read: {error.strerror or error}; fix that, or name another path"
    )
