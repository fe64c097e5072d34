"""Passages on disk: written once, whole or not at all, and read by any number of processes."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import overload

import msgspec
import numpy as np

from trueground.errors import InputError, OutputError, WriteError
from trueground.options import Progress, no_progress
from trueground.retrieval.corpora.corpus import (
    PassageEntry,
    StoredPassage,
    bare_id,
    names_of,
    page_key,
    searched_text,
)
from trueground.retrieval.corpora.store_files import (
    LINES,
    OFFSETS,
    Hashes,
    RandomReader,
    Sorted,
    decode_line,
    mapped,
    read_meta,
    torn,
)
from trueground.retrieval.corpora.store_writing import write_store
from trueground.retrieval.writing import step
from trueground.types import Passage

_AT_ONCE = 512  # passages that are read together when they are read in order


class PassageStore:
    """The passages of a folder, by number from 0; satisfies `Passages`.

    Only what is asked for is read; nothing of the texts stays in memory. Safe in threads and after
    a fork, and cheap to send to other processes (it is opened again there). InputError: the folder
    holds no store, or one whose files do not belong together.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._meta = read_meta(folder)
        try:
            offsets: Hashes = mapped(folder / OFFSETS)
            self._ids = Sorted(folder, "ids")
            self._names = Sorted(folder, "names")
            size = (folder / LINES).stat().st_size
            self._lines = RandomReader(folder / LINES)
        except (OSError, ValueError, EOFError) as error:
            raise torn(folder, str(error)) from error
        self._offsets = offsets
        self._check_whole(size)

    @classmethod
    def write(
        cls,
        folder: Path,
        entries: Iterable[PassageEntry],
        progress: Progress = no_progress,
        *,
        made_from: str = "",
        notes: Sequence[str] = (),
    ) -> PassageStore:
        """Write the entries to `folder`, which appears when all is written, and open it.

        `made_from` names what they come from; `notes`, looked at when all entries were read, say
        what was left out of it. Both are kept with the passages. In memory are one
        entry at a time, and at the end 30 bytes a passage (60 where pages are not called as their
        titles). InputError: no entry, a blank text or id, two entries with one id,
        a lone surrogate. OutputError: the folder is there and holds something. WriteError: the disk
        is full or may not be written.
        """
        _check_free(folder)
        part = folder.parent / f".{folder.name}-{secrets.token_hex(6)}"
        try:
            part.mkdir(parents=True)
            write_store(part, entries, progress, made_from, notes)
            if folder.is_dir():
                folder.rmdir()
            part.rename(folder)
        except OSError as error:
            _check_free(folder)
            raise WriteError(
                f"the passages could not be written to {folder}: {error.strerror or error}; "
                f"{step(error)}, or choose another folder"
            ) from error
        finally:
            shutil.rmtree(part, ignore_errors=True)
        return cls(folder)

    @property
    def texts(self) -> Sequence[str]:
        """The texts, read at each access; slices and loops read many at once."""
        return _View(self, lambda line: line.text)

    @property
    def searched(self) -> Sequence[str]:
        """Title and text with one space between, read at each access."""
        return _View(self, lambda line: searched_text(line.title, line.text))

    @property
    def sha256(self) -> str:
        """The digest of all passages in their order."""
        return self._meta.sha256

    @property
    def made_from(self) -> str:
        """What the passages were made from; blank where that was not said."""
        return self._meta.made_from

    @property
    def notes(self) -> Sequence[str]:
        """What of that is not among them."""
        return self._meta.notes

    def __len__(self) -> int:
        return self._meta.passages

    def __getitem__(self, index: int) -> Passage:
        line = self.line(index)
        return Passage(line.text, id=line.id, title=line.title, source=line.page)

    def __iter__(self) -> Iterator[Passage]:
        for line in self.lines():
            yield Passage(line.text, id=line.id, title=line.title, source=line.page)

    def __reduce__(self) -> tuple[type[PassageStore], tuple[Path]]:
        return type(self), (self.folder,)

    def page_keys(self, index: int) -> frozenset[str]:
        """By which names the passage's page is known: its page's and its title's `page_key`."""
        line = self.line(index)
        return names_of(line.title, line.page)

    def number(self, id_: str) -> int | None:
        """The number of the passage with this id, None if there is none.

        "wiki:7", as DPR and TopiOCQA name their gold passages, also finds the passage "7".
        """
        for asked in dict.fromkeys((id_, bare_id(id_))):
            for number in self._ids.find(asked):
                if self.line(number).id == asked:
                    return number
        return None

    def numbers_of_title(self, title: str) -> list[int]:
        """The passages whose title or page is so called, ascending.

        Case, `_` and white space make no difference.
        """
        key = page_key(title)
        return [number for number in self._names.find(key) if key in self.page_keys(number)]

    def line(self, index: int) -> StoredPassage:
        """The passage as it is kept. IndexError: there is no such number."""
        n = self._meta.passages
        if not -n <= index < n:
            raise IndexError(f"passage {index} of {n}")
        index %= n
        start, end = int(self._offsets[index]), int(self._offsets[index + 1])
        return self._decoded(self._read(start, end - start))

    def lines(self, start: int = 0, stop: int | None = None) -> Iterator[StoredPassage]:
        """The passages from `start` to before `stop` (0 ≤ start, stop ≤ len) in order."""
        stop = self._meta.passages if stop is None else stop
        for first in range(start, stop, _AT_ONCE):
            places = self._offsets[first : min(first + _AT_ONCE, stop) + 1].tolist()
            block = self._read(places[0], places[-1] - places[0])
            for a, b in pairwise(places):
                yield self._decoded(block[a - places[0] : b - places[0]])

    def _read(self, start: int, size: int) -> bytes:
        try:
            return self._lines.read(start, size)
        except OSError as error:
            raise InputError(
                f"{self.folder / LINES} cannot be read: {error.strerror or error}; fix that, or "
                "build the index again elsewhere"
            ) from error

    def _decoded(self, data: bytes) -> StoredPassage:
        try:
            return decode_line(data)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise torn(self.folder, f"{LINES}: {error}") from None

    def _check_whole(self, size: int) -> None:
        """InputError unless every file has the length that belongs to the others."""
        meta, folder = self._meta, self.folder
        lengths = {
            OFFSETS: (len(self._offsets), meta.passages + 1),
            LINES: (size, meta.bytes),
            "the last offset": (int(self._offsets[-1]) if len(self._offsets) else 0, meta.bytes),
            "ids_hashes.npy": (len(self._ids.hashes), meta.passages),
            "ids_numbers.npy": (len(self._ids.numbers), meta.passages),
            "names_hashes.npy": (len(self._names.hashes), meta.names),
            "names_numbers.npy": (len(self._names.numbers), meta.names),
        }
        for name, (found, expected) in lengths.items():
            if found != expected:
                raise torn(folder, f"{name}: found {found:,}, expected {expected:,}")
        for column in (self._offsets, self._ids.hashes, self._names.hashes):
            if column.dtype != np.uint64:
                raise torn(folder, f"found numbers of type {column.dtype}, expected uint64")


class _View(Sequence[str]):
    """One text of each passage of a store."""

    def __init__(self, store: PassageStore, of: Callable[[StoredPassage], str]) -> None:
        self._store = store
        self._of = of

    def __len__(self) -> int:
        return len(self._store)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if not isinstance(index, slice):
            return self._of(self._store.line(int(index)))
        start, stop, step = index.indices(len(self))
        if step == 1:
            return list(map(self._of, self._store.lines(start, stop)))
        return [self._of(self._store.line(i)) for i in range(start, stop, step)]

    def __iter__(self) -> Iterator[str]:
        return map(self._of, self._store.lines())


def _check_free(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OutputError(f"{folder} is there already; remove it, or choose another folder")
