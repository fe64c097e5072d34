"""The files of one run directory: the only code that reads and writes them.

A file is read line by line, in order, as the Struct that the caller asks for (`iter_items`,
`iter_records`); by id (`LineIndex`); or pairwise, each item with its record (`iter_answers`).
What can't be read is an InputError that names file and line. With `Gaps` it is counted instead.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import Any, BinaryIO, Generic, NamedTuple, Protocol, TypeVar, cast, overload
from urllib.parse import quote

import msgspec

from trueground.errors import InputError
from trueground.files import FolderLock, OutputPath
from trueground.records import UNREADABLE, DataPath, Problem, shorten
from trueground.runs.directory import ITEMS, MANIFEST, RECORDS, REPEATS, REPORT, RESPONSES, SUMMARY
from trueground.runs.frames import read_frames
from trueground.runs.identity import describe_unfinished
from trueground.runs.schema import (
    FORMAT_VERSION,
    UNNUMBERED_VERSION,
    Item,
    Manifest,
    RecordTexts,
    Summary,
)
from trueground.text import hash_text, several
from trueground.types import Answered

MAX_NAMED_GAPS = 5  # lines of each kind that are named
MAX_LINES_AHEAD = 1_000  # records that are read in search of the one of an item


class HasId(Protocol):
    """A line of items.jsonl or of the records, or a part of one."""

    id: str


LineT = TypeVar("LineT", bound=HasId)
T = TypeVar("T")
StructT = TypeVar("StructT", bound=msgspec.Struct)


class _Versioned(msgspec.Struct):
    format_version: int = UNNUMBERED_VERSION
    trueground: str | None = None


def decode_file(content: bytes, kind: type[StructT], name: str) -> StructT:
    """Return the content of manifest.json or summary.json.

    Args:
        content: The bytes of the file.
        kind: `Manifest` or `Summary`.
        name: What an error calls the file.

    Raises:
        InputError: The content isn't such a file, or a newer version of trueground wrote it.
    """
    try:
        version = msgspec.json.decode(content, type=_Versioned)
        if version.format_version > FORMAT_VERSION:
            raise _newer(name, version)
        if kind is Manifest and version.trueground is None:
            raise InputError(f"{name} is not of a trueground run")
        decoded: Any = msgspec.json.decode(content, type=kind)
    except (msgspec.ValidationError, RecursionError) as error:
        reason = describe_error(error)
        raise InputError(f"{name} is not as trueground writes it: {reason}. Run again.") from error
    except UNREADABLE as error:
        raise InputError(f"{name} cannot be read: {describe_error(error)}. Run again.") from error
    decoded.format_version = version.format_version
    return cast(StructT, decoded)


def _newer(name: str, found: _Versioned) -> InputError:
    by = f", written by trueground {found.trueground}" if found.trueground else ""
    return InputError(
        f"{name}: format version {found.format_version}{by}. This version of trueground reads up "
        f"to {FORMAT_VERSION}. Upgrade trueground: pip install --upgrade trueground"
    )


def describe_error(error: Exception) -> str:
    """Return what is wrong with a line or file."""
    return Problem.of_error(error).found


def decode_lines(lines: Iterable[bytes], kind: type[T], path: Path) -> Iterator[T]:
    """Yield each line as a Struct of this kind. Raises InputError that names `path` and line."""
    decode = msgspec.json.Decoder(kind).decode
    for number, line in enumerate(lines, start=1):
        try:
            yield decode(line)
        except UNREADABLE as error:
            raise _unreadable_line(path, number, describe_error(error)) from error


def _unreadable_line(path: Path, number: int, reason: str) -> InputError:
    return InputError(
        f"{path}, line {number}: not a line that this version writes ({reason}); run again"
    )


class RunFiles:
    """The files of the run directory `path`, which needn't exist."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest = path / MANIFEST
        self.summary = path / SUMMARY
        self.items = path / ITEMS
        self.records = path / RECORDS
        self.repeats = path / REPEATS
        self.responses = path / RESPONSES
        self.page = path / REPORT

    @staticmethod
    def find_folders(paths: Sequence[Path]) -> tuple[list[Path], list[str]]:
        """The run directories that the paths are, or hold at most two levels deep; and problems."""
        found: dict[Path, Path] = {}
        problems = []
        for path in paths:
            first = sorted(p for p in path.glob("*/") if RunFiles(p).is_run)
            second = (p for p in path.glob("*/*/") if RunFiles(p).is_run and p.parent not in first)
            folders = [path] if RunFiles(path).is_run else [*first, *sorted(second)]
            if not folders:
                what = "holds no run" if path.is_dir() else "is no folder"
                problems.append(
                    f"{path} {what}: no manifest.json in it or two levels below. Name a folder "
                    "that `trueground score` or `trueground run` has written."
                )
            for folder in folders:
                found.setdefault(folder.resolve(), folder)
        return list(found.values()), problems

    @property
    def is_run(self) -> bool:
        """Whether the folder has a manifest, of a finished run or not."""
        return self.manifest.is_file()

    def item_links(self, ids: Iterable[str]) -> dict[str, str]:
        """Return for each id its link on the page, relative to the run; nothing without a page."""
        if not self.page.is_file():
            return {}
        return {id_: f"{REPORT}#item-{quote(id_, safe='')}" for id_ in ids}

    def link_from(self, folder: Path) -> str:
        """Return what leads from a folder to the run directory, as the start of a link."""
        try:
            way = Path(os.path.relpath(self.path, folder)).as_posix()
        except ValueError:  # on Windows, on another drive
            return self.path.absolute().as_uri() + "/"
        # A first part with a colon would be read as a scheme.
        return quote(way if way.startswith(".") else f"./{way}") + "/"

    @property
    def has_records(self) -> bool:
        """Whether the records were kept with the run."""
        return self.records.exists()

    @property
    def wrong_records(self) -> InputError:
        """The error for a run whose records are not those of its items."""
        return InputError(
            f"{self.records}: the ids are not those of {ITEMS}. Run again, or remove the records "
            "file"
        )

    # Manifest and summary

    def read_manifest(self) -> Manifest:
        """Return the manifest. Raises InputError if there is none or it can't be read."""
        return decode_file(self._read(self.manifest), Manifest, str(self.manifest))

    def read_summary(self) -> Summary:
        """Return the summary. Raises InputError if there is none or it can't be read."""
        if not self.summary.exists() and self.is_run and self.read_manifest().is_finished:
            raise InputError(
                f"{self.summary}: not found, although the run in {self.path} is finished; run it "
                "again"
            )
        return decode_file(self._read(self.summary), Summary, str(self.summary))

    def find_manifest(self) -> Manifest | None:
        """Return the manifest; None if the folder has none. Raises InputError for a damaged one."""
        return self.read_manifest() if self.manifest.exists() else None

    def find_summary(self) -> Summary | None:
        """Return the summary; None if there is none that can be read."""
        try:
            return self.read_summary()
        except InputError:
            return None

    def check_finished(self) -> Manifest:
        """Return the manifest of a finished run. Raises InputError if the run isn't finished."""
        manifest = self.read_manifest()
        if not manifest.is_finished:
            entries = {"status": manifest.status, "command": manifest.command}
            running = FolderLock(self.path).is_held()
            raise InputError(describe_unfinished(self.path, entries, running=running))
        return manifest

    def check_items(self) -> None:
        """Raise InputError if a finished run has lost its items.jsonl."""
        if not self.items.exists():
            raise InputError(f"{self.items}: not found, although the run is finished; run it again")

    def write_manifest(self, manifest: Manifest) -> None:
        """Replace manifest.json as a whole. Raises WriteError."""
        manifest.format_version = FORMAT_VERSION
        OutputPath(self.manifest).write_json(manifest.raw)

    def write_summary(self, summary: Summary) -> None:
        """Replace summary.json as a whole. Raises WriteError."""
        summary.format_version = FORMAT_VERSION
        OutputPath(self.summary).write_json(summary.raw)

    def _read(self, path: Path) -> bytes:
        try:
            return path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            raise InputError(
                f"{path}: not found; expected the directory of a finished run, such as "
                "`trueground score FILE --out DIR` writes"
            ) from None
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror or error}") from error

    # Lines

    @overload
    def iter_items(self) -> Iterator[Item]: ...

    @overload
    def iter_items(self, kind: type[T]) -> Iterator[T]: ...

    def iter_items(self, kind: Any = Item) -> Iterator[Any]:
        """Yield the lines of items.jsonl in order.

        Args:
            kind: The Struct with the fields to decode, such as `ItemScores`.

        Raises:
            InputError: A line that isn't an item.
        """
        with self.open_items() as lines:
            yield from decode_lines(lines, kind, self.items)

    def open_items(self) -> BinaryIO:
        """Open items.jsonl. Raises InputError."""
        try:
            return self.items.open("rb")
        except FileNotFoundError:
            raise InputError(
                f"{self.items}: not found. Is {self.path} a finished run directory?"
            ) from None
        except OSError as error:
            raise InputError(f"{self.items} cannot be read: {error.strerror or error}") from error

    @overload
    def iter_records(self) -> Iterator[Answered]: ...

    @overload
    def iter_records(self, kind: type[T]) -> Iterator[T]: ...

    def iter_records(self, kind: Any = Answered) -> Iterator[Any]:
        """Yield the records in order.

        Args:
            kind: The Struct with the fields to decode; those of `Answered` by default.

        Raises:
            InputError: The run kept no records, or a line isn't a record.
        """
        self.check_records()
        with DataPath(self.records).open() as lines:
            yield from decode_lines(lines, kind, self.records)

    def iter_texts(self) -> Iterator[RecordTexts]:
        """Yield question and response of each record; endless empty ones without records."""
        return self.iter_records(RecordTexts) if self.has_records else repeat(RecordTexts())

    def check_records(self) -> None:
        """Raise InputError if the run kept no records."""
        if not self.has_records:
            raise InputError(
                f"{self.path}: this run kept no records, so nothing but its numbers can be read; "
                "run again without --no-records"
            )

    def iter_answers(
        self, gaps: Gaps | None = None, rows: Sequence[int] | None = None
    ) -> Iterator[Answer]:
        """Yield the items, each with its record if records were kept.

        Args:
            gaps: Counts what can't be read, which is then left out.
            rows: The lines that are requested, from 0 and ascending; by default all.

        Raises:
            InputError: items.jsonl can't be opened; without `gaps` also for a line that isn't an
                item, and for an item whose record is missing.
        """
        requested, last = (None, 0) if rows is None else (set(rows), max(rows, default=-1))
        records = None
        if self.has_records:
            records = RecordLines(self._record_lines(), msgspec.json.Decoder(Answered).decode)
        decode = msgspec.json.Decoder(Item).decode
        with DataPath(self.items).open() as lines:
            for row, line in enumerate(lines):
                if requested is not None and row > last:
                    return
                if requested is not None and row not in requested and gaps is None:
                    if records is not None:
                        records.skip()
                    continue
                try:
                    item = decode(line)
                except UNREADABLE as error:
                    if gaps is None:
                        raise _not_readable(self.items, row, describe_error(error)) from None
                    gaps.add_item(row + 1, line, error)
                    continue
                match = records.take(item.id) if records is not None else None
                if match is None and records is not None:
                    if gaps is None:
                        reason = f"id {item.id!r}: {records.reason()}"
                        raise _not_readable(self.records, row, reason)
                    gaps.add_record(row + 1, records.reason())
                if requested is None or row in requested:
                    yield Answer(row, item, match and match[1])

    def _record_lines(self) -> Iterator[bytes | str]:
        """The lines of the records; in place of what can't be read, why."""
        try:
            with DataPath(self.records, "the file").open() as lines:
                yield from lines
        except InputError as error:
            yield str(error)

    # Lines by id

    def read_item(self, id_: str) -> Item:
        """Return the item with this id. Raises InputError if there is none."""
        at = self._item_index.find(id_)
        item = None if at is None else self.read_item_at(at)
        if item is None or item.id != id_:
            raise InputError(f"{self.items}: no item has the id {id_!r}")
        return item

    def read_item_at(self, position: int) -> Item:
        """Return the item whose line begins at this byte. Raises InputError."""
        with self.open_items() as file:
            file.seek(position)
            try:
                return msgspec.json.decode(file.readline(), type=Item)
            except RecursionError as error:
                raise TooDeepError(self.items, describe_error(error)) from error
            except UNREADABLE as error:
                raise InputError(
                    f"{self.items}: no item begins at byte {position}: the run has changed"
                ) from error

    def read_record(self, id_: str) -> Answered:
        """Return the record with this id. Raises InputError if there is none."""
        line = self._record_index.find(id_)
        record = None if line is None else self.read_record_line(line, self._frames)
        if record is None or record.id != id_:
            raise InputError(f"{self.records}: no record has the id {id_!r}")
        return record

    def read_record_line(self, line: int, frames: Sequence[tuple[int, int]]) -> Answered | None:
        """Return a record by its line, from 0; None if it can't be read.

        Args:
            line: The line, from 0.
            frames: Of compressed frames the first byte and the first line, ascending.
        """
        at, first = frames[bisect_right(frames, line, key=lambda frame: frame[1]) - 1]
        try:
            for piece in read_frames(self.records, at, first):
                if line < piece.row + len(piece.lines):
                    return msgspec.json.decode(piece.lines[line - piece.row], type=Answered)
        except (OSError, *UNREADABLE):
            pass
        return None

    @cached_property
    def _item_index(self) -> LineIndex:
        index = LineIndex()
        with self.open_items() as lines:
            position = 0
            for line in lines:
                index.add(line, position)
                position += len(line)
        return index

    @cached_property
    def _record_index(self) -> LineIndex:
        self.check_records()
        index = LineIndex()
        frames: dict[tuple[int, int], None] = {}
        for piece in read_frames(self.records, 0, 0):
            frames[piece.frame] = None
            for number, line in enumerate(piece.lines, piece.row):
                index.add(line, number)
        self._frames = list(frames)
        return index


class Answer(NamedTuple):
    """An item with its line from 0, and its record if that was kept."""

    row: int
    item: Item
    record: Answered | None


def _not_readable(path: Path, row: int, reason: str) -> InputError:
    return InputError(f"{path}, line {row + 1}: not readable ({reason}). Score again.")


class _IdLine(msgspec.Struct):
    id: str


class TooDeepError(InputError):
    """A line that is nested too deeply to be read; `reason` says so."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: found {reason}")
        self.reason = reason


class LineIndex:
    """Where in a file the line of an id is. Ids are kept as hashes of 64 bits."""

    def __init__(self) -> None:
        self._positions: dict[int, int] = {}
        self._decode = msgspec.json.Decoder(_IdLine).decode

    def add(self, line: bytes, position: int) -> None:
        """Take in a line. One that can't be read is no id's line."""
        try:
            self._positions.setdefault(hash_text(self._decode(line).id), position)
        except UNREADABLE:
            return

    def find(self, id_: str) -> int | None:
        """Return the position of an id's line; None if there is none."""
        return self._positions.get(hash_text(id_))


class Gaps(msgspec.Struct):
    """How many lines of a run can't be read, and where the first of them are.

    Attributes:
        items: Lines of items.jsonl that are left out.
        records: Items whose record can't be read.
        item_places: Descriptions of the first lines that are left out.
        record_places: Descriptions of the first items without a record.
    """

    items: int = 0
    records: int = 0
    item_places: list[str] = []
    record_places: list[str] = []

    def add_item(self, number: int, line: bytes, error: Exception) -> None:
        """Count a line of items.jsonl, from 1, that isn't an item."""
        self.items += 1
        if len(self.item_places) < MAX_NAMED_GAPS:
            text = shorten(line.decode("utf-8", "replace").strip(), 40) or "nothing"
            self.item_places.append(f"line {number:,}: found {text} ({describe_error(error)})")

    def add_record(self, number: int, reason: str) -> None:
        """Count an item, by its line from 1, whose record is missing."""
        self.records += 1
        if len(self.record_places) < MAX_NAMED_GAPS:
            self.record_places.append(f"line {number:,}: {reason}")

    def notices(self, listed: int, n: int | None) -> list[str]:
        """Return what a page says about answers that can't be read.

        Args:
            listed: Number of answers on the page.
            n: Number of answers of the run, if that is known.
        """
        sentences = []
        if self.items:
            lines = f"{several(self.items, 'line')} of {ITEMS} cannot be read"
            sentences.append(f"{lines}: {_name_first(self.item_places, self.items)}.")
        if n is not None and listed < n:
            if listed + self.items < n:
                sentences.append(f"{ITEMS} ends after line {listed + self.items:,}.")
            are = "is" if n - listed == 1 else "are"
            sentences.insert(0, f"{n - listed:,} of {n:,} answers {are} missing from the list:")
        if self.records:
            stand = "answer stands" if self.records == 1 else "answers stand"
            sentences.append(
                f"{self.records:,} {stand} here without question and passages, by {ITEMS} and "
                f"{RECORDS}: {_name_first(self.record_places, self.records)}."
            )
        return [" ".join([*sentences, "Score again to have all."])] if sentences else []


def _name_first(places: list[str], n: int) -> str:
    return "; ".join(places) + (f"; and {n - len(places):,} more" if n > len(places) else "")


class RecordLines(Generic[LineT]):
    """Gives each item its record: mostly the one of the next line, else the next with its id.

    `lines` are those after the first `taken`. At the end they may say why there are no more.
    """

    def __init__(
        self, lines: Iterator[bytes | str], decode: Callable[[bytes], LineT], taken: int = 0
    ) -> None:
        self.taken = self._read = taken
        self._lines, self._decode = lines, decode
        self._ahead: dict[str, tuple[int, LineT]] = {}  # that are read but not taken, by their ids
        self._ended, self._problem = "the file ends before", ""

    def has_more(self) -> bool:
        """Return whether there is a line for another item."""
        return bool(self._ahead) or self._read_one()

    def take(self, name: str) -> tuple[int, LineT] | None:
        """Return the record of an item with its line from 1; None if none of the next has its id.

        Records before it belong to no item that can be read.
        """
        while name not in self._ahead and len(self._ahead) < MAX_LINES_AHEAD and self._read_one():
            pass
        match = self._ahead.get(name)
        if match is not None:
            while self._ahead.pop(next(iter(self._ahead))) is not match:
                pass
            self.taken = match[0]
        return match

    def skip(self) -> None:
        """Pass over the next record. Call it only if none was read ahead."""
        next(self._lines, None)
        self._read += 1

    def reason(self) -> str:
        """Return why `take` found none."""
        if self._problem:
            problem, self._problem = self._problem, ""
            return problem
        return "no record has its id" if self._ahead else self._ended

    def _read_one(self) -> bool:
        line = next(self._lines, None)
        if not isinstance(line, bytes):
            self._ended = line or self._ended
            return False
        self._read += 1
        try:
            record = self._decode(line)
            self._ahead.setdefault(record.id, (self._read, record))
        except UNREADABLE as error:
            self._problem = f"its record cannot be read ({describe_error(error)})"
        return True
