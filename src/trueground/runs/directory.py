"""A run directory while it is being written, and single files that a command writes.

Files are either replaced as a whole (JSON, page) or appended to in whole pieces: when the disk is
full, the unfinished piece is cut off again, so that what was finished stays intact. Whatever is to
be written is checked before any work is done, and another's file is never replaced.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import Any, BinaryIO, Self

import orjson
import zstandard

from trueground.errors import InputError, OutputError, UsageError, WriteError, is_refusal
from trueground.net.files import (
    create_new,
    locked,
    missing_folders,
    open_no_follow,
    part_of,
    remove_empty,
    write_atomically,
)

MANIFEST = "manifest.json"
SUMMARY = "summary.json"
ITEMS = "items.jsonl"
RECORDS = "records.jsonl.zst"
REPORT = "report.html"
RESPONSES = "responses.jsonl"
REPEATS = "repeats.jsonl"
BATCHES = "batches.json"
SHARDS = "shards"  # the folder of a sharded run that is not merged yet
# What a run may have written: the only files that --overwrite removes.
_OURS = (MANIFEST, SUMMARY, ITEMS, RECORDS, REPORT, RESPONSES, BATCHES, REPEATS)
OTHER_FILE = re.compile(r"\.[a-z][a-z0-9]{1,6}")  # an ending; v1.2 and run.7 may be folders
_BEGINNING = 4_096  # bytes in which a file of ours says what it is


def safe_name(name: str) -> str:
    """The characters of `name` that a file system takes everywhere; at most 60 of them."""
    safe = "".join(c if c.isalnum() or c in "-_." else "-" for c in name).strip("-.")
    return safe[:60] or "score"


def default_path(name: str, now: datetime | None = None) -> Path:
    """runs/<utc-time>-<name>."""
    stamp = (now or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
    return Path("runs") / f"{stamp}-{safe_name(name)}"


def free_path(name: str) -> Path:
    """The default path, or with a number behind it where a command of the same second took it."""
    return next(path for path in _numbered(default_path(name)) if not path.exists())


def _numbered(path: Path) -> Iterator[Path]:
    """path, path-2, path-3 …"""
    return chain([path], (path.with_name(f"{path.name}-{number}") for number in count(2)))


def read_manifest(run: Path) -> dict[str, Any] | None:
    """The manifest of a run directory; None where there is none. Raises InputError."""
    path = run / MANIFEST
    try:
        manifest = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({error}); choose another --out") from None
    return manifest if isinstance(manifest, dict) else None


def write_json(path: Path, value: Any) -> None:
    """Replace a JSON file as a whole. Raises WriteError."""
    with replacing(path) as out:
        out.write(orjson.dumps(value, option=orjson.OPT_INDENT_2) + b"\n")


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` when it is whole, or never. Raises WriteError."""
    try:
        with write_atomically(path) as out:
            yield out
    except OSError as error:
        raise write_error(path, error) from error


def write_error(path: Path, error: OSError) -> WriteError:
    """The error for writing that stopped."""
    return WriteError(
        f"writing {path} failed: {error.strerror or error}. What was finished before is intact in "
        f"{path.parent}. Make room or choose another --out, then run again."
    )


def count_lines(path: Path) -> int:
    """Number of line ends in a file; 0 if there is none."""
    if not path.exists():
        return 0
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


class AppendFile:
    """A file that grows by whole pieces only. Nothing is buffered: closing cannot lose anything.

    `size` is in bytes, those found at the start included.
    """

    def __init__(self, path: Path, size: int = 0) -> None:
        """Begin behind the first `size` bytes of what is there; the rest is cut off."""
        self.path = path
        self.size = size
        try:
            self._file = open_no_follow(path, "r+b", 0) if size else create_new(path, 0)
            self._file.truncate(size)
            self._file.seek(size)
        except OSError as error:
            raise write_error(path, error) from error
        self.close = self._file.close

    def append(self, piece: bytes) -> None:
        """Write the piece, or nothing of it. Raises WriteError."""
        done = False
        try:
            view = memoryview(piece)
            while len(view):
                view = view[self._file.write(view) :]
            done = True
            self.size += len(piece)
        except OSError as error:
            raise write_error(self.path, error) from error
        finally:
            if not done:  # Ctrl-C in the middle of a piece, too
                self._file.truncate(self.size)
                self._file.seek(self.size)


class RunDirectory:
    """A locked directory in which one run is written."""

    def __init__(
        self,
        path: Path,
        *,
        overwrite: bool = False,
        unique: bool = False,
        resume: bool = False,
        sharded: bool = False,
    ) -> None:
        """Take the directory; with `unique`, or the first free one of path, path-2, path-3 …

        With `resume` what lies there stays; whether it is the same run is for the caller to see.
        Shards that are not merged are in the way, unless the run is theirs (`sharded`).
        """
        created = missing_folders(path.parent if unique else path)
        self.path = path = _create_free(path) if unique else path
        created = [path, *created] if unique else created
        self._pack = zstandard.ZstdCompressor(level=3)
        self._items: AppendFile | None = None
        self._records: AppendFile | None = None
        busy = OutputError(f"{path} is in use by another run; wait for it or choose another --out")
        with ExitStack() as stack:
            _create(path)
            stack.enter_context(locked(path, busy))
            if not sharded:
                check_no_shards(path)
            _check_free(path, overwrite or resume, "resume" if resume else "--overwrite")
            if not resume:
                self._clear()
            if not (path / MANIFEST).exists():
                stack.push(lambda _kind, error, _at: self._undo(error, created))
            self._open = stack.pop_all()

    def begin(self, keep_records: bool = True) -> None:
        """Start items.jsonl, and the file of records, from nothing."""
        self._items = self._start(ITEMS)
        if keep_records:
            self._records = self._start(RECORDS)
        else:
            (self.path / RECORDS).unlink(missing_ok=True)

    def _start(self, name: str) -> AppendFile:
        file = AppendFile(self.path / name)
        self._open.callback(file.close)
        return file

    def append(self, items: bytes, records: bytes) -> None:
        """Add whole lines to items.jsonl, and the records as one more zstd frame."""
        if self._items is None:
            self.begin()
        assert self._items is not None
        if self._records is not None and records:
            self._records.append(self._pack.compress(records))
        self._items.append(items)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self._open.__exit__(*error)

    def _clear(self) -> None:
        """Remove the run in the folder; what tells that it is one goes last."""
        there = {entry.name for entry in self.path.iterdir()}
        for path in (self.path / name for name in reversed(_OURS)):
            for one in (part_of(path), path):
                if one.name in there:
                    one.unlink()

    def _undo(self, error: BaseException | None, created: Sequence[Path]) -> None:
        """A run that began here and is refused leaves nothing, if nothing came of it."""
        if is_refusal(error) and all(
            map(_is_empty, (self.path / n for n in (ITEMS, RESPONSES, BATCHES)))
        ):
            self._clear()
            remove_empty(created)


def _is_empty(path: Path) -> bool:
    return not path.exists() or not path.stat().st_size


def _create_free(path: Path) -> Path:
    """A directory that nobody else has made: the path itself, or with a number behind it."""
    for free in _numbered(path):
        try:
            free.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise unusable(free, error) from error
        return free
    raise AssertionError("numbers do not end")


def _create(path: Path) -> None:
    _check_no_file(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unusable(path, error) from error


def unusable(path: Path, error: OSError) -> OutputError:
    """The error for an output folder that the system refuses."""
    return OutputError(
        f"cannot use {path} as output folder: {error.strerror or error}; choose another --out"
    )


def check_resumable(path: Path, *, sharded: bool = False) -> None:
    """Raises OutputError where a run could not begin, or go on, in this folder. Makes nothing."""
    _check_no_file(path)
    if path.exists():
        if not sharded:
            check_no_shards(path)
        _check_free(path, True, "resume")


def claim_folder(path: Path, *, overwrite: bool) -> list[Path]:
    """Make the folder of a run that several processes write; those that were not there before.

    OutputError where something is in the way. The folder is not locked.
    """
    made = missing_folders(path)
    _create(path)
    check_no_shards(path)
    _check_free(path, overwrite, "--overwrite")
    return made


def shard_folder(out: Path, number: int, of: int) -> Path:
    """The folder of a shard, counted from 0, of a run or build below `out`. Nothing is made.

    OutputError where shards of another kind, or of another number of them, lie there.
    """
    others = [entry.name for entry in (out / SHARDS).glob("[!.]*")]
    if other := next((name for name in others if not name.endswith(f"-of-{of:05}")), None):
        raise OutputError(
            f"{out / SHARDS} holds {other}, which is no shard of {of}; give the same --shard I/N "
            "as before, or choose another --out"
        )
    return out / SHARDS / f"{number + 1:05}-of-{of:05}"


def _check_no_file(path: Path) -> None:
    try:
        if path.exists() and not path.is_dir():
            raise OutputError(f"{path} is a file; --out must name a folder")
    except OSError as error:
        raise unusable(path, error) from error


def check_no_shards(path: Path) -> None:
    """OutputError where shards wait to be merged; what a killed writer leaves begins with a dot."""
    shards = path / SHARDS
    if shards.is_dir() and any(not entry.name.startswith(".") for entry in shards.iterdir()):
        raise OutputError(
            f"{path} holds shards that are not merged; go on with them by the command that began "
            f"them, end with `trueground merge {path}`, or choose another --out (to give them up, "
            f"remove {shards})"
        )


def _check_free(path: Path, may_be_a_run: bool, option: str) -> None:
    """Check that the directory may be filled. Raises OutputError."""
    if any(not _is_left_over(entry) for entry in path.iterdir()):
        try:
            is_run = "trueground" in orjson.loads((path / MANIFEST).read_bytes())
        except (OSError, ValueError, TypeError):
            is_run = False
        check_ours_inside(path, may_be_a_run, is_run, "run", option)
    if not os.access(path, os.W_OK):
        raise OutputError(f"{path} is not writable; choose another --out or fix its permissions")


def check_ours_inside(path: Path, wanted: bool, ours: bool, what: str, option: str) -> None:
    """OutputError for a folder that is not empty, unless it holds a `what` and may (`wanted`)."""
    if not wanted:
        raise OutputError(
            f"{path} exists and is not empty; choose another --out, or pass --overwrite to replace "
            f"the {what} in it"
        )
    if not ours:
        raise OutputError(
            f"{path} holds files but no {what}, so {option} leaves it alone; choose another --out"
        )


def _is_left_over(entry: Path) -> bool:
    """Whether it is what a killed run may leave before it has a manifest."""
    if entry.name in (RESPONSES, ITEMS, RECORDS):
        return entry.is_file() and _is_empty(entry)
    if entry.name == SHARDS:
        return entry.is_dir()
    return entry.name in [part_of(entry.with_name(name)).name for name in _OURS]


# Single files


def check_out_file(path: Path, example: str, option: str = "--out", overwrite: bool = True) -> None:
    """Check that a file may be written there. `example` is a name that could be meant.

    OutputError: a folder, a device or pipe, a folder above that is missing or may not be written;
    a file that is there already, where it may not be overwritten.
    """
    if path.is_dir():
        raise OutputError(
            f"{path} is a folder; {option} must name a file, such as {path / example}"
        )
    if path.exists() and not path.is_file():
        raise OutputError(f"{path} is no regular file; {option} must name one, such as {example}")
    if not path.parent.is_dir():
        raise OutputError(f"the folder {path.parent} does not exist; make it, or choose another")
    if not os.access(path.parent, os.W_OK):
        raise OutputError(f"{path.parent} is not writable; choose another {option}")
    if path.exists() and not overwrite:
        raise OutputError(
            f"{path} exists; choose another {option}, or pass --overwrite to replace it"
        )


def check_page_file(path: Path, mark: str, overwrite: bool, option: str = "--out") -> None:
    """Check that a page may be written there. A file is replaced only where it is such a page.

    `mark` is what the page is, as trueground-KIND-NUMBER; it stands in the page's head as
    <meta name="generator" content="MARK">. `overwrite` says whether a page of ours may be replaced.
    UsageError: the name does not end in .html. OutputError: see `check_out_file`; others' file, or
    a page of ours that is to stay.
    """
    kind = mark.split("-")[1]
    if path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"{option} {path}: the page is an HTML file; name it FILE.html")
    meta = f'<meta name="generator" content="{mark}">'
    _check_replaceable(path, meta, kind, "page", option, overwrite)


def _check_replaceable(
    path: Path, mark: str, kind: str, what: str, option: str, overwrite: bool
) -> None:
    check_out_file(path, f"{kind}.{'html' if what == 'page' else 'json'}", option)
    check_ours(path, mark, f"{kind} {what} of ours", option)
    check_out_file(path, kind, option, overwrite)


def find_outputs(
    path: Path, mark: str, *, overwrite: bool = True, numbers: str | None = None
) -> tuple[Path | None, Path | None]:
    """The page and the file of numbers that --out names, checked before any work is done.

    FILE.html is the page alone, FILE.json the numbers alone, a folder (which may be still to make)
    has both as KIND.html and KIND.json. `mark` is that of the page, see `check_page_file`;
    `numbers` stands in the beginning of the numbers' file, and without it there is none. Makes
    nothing. UsageError: a file of another kind. OutputError: see `check_page_file`.
    """
    kind, suffix = mark.split("-")[1], path.suffix.lower()
    is_page = suffix in (".html", ".htm")
    page, file = path if is_page else None, path if suffix == ".json" and numbers else None
    if path.is_dir() or not (page or file or path.exists() or OTHER_FILE.fullmatch(suffix)):
        page, file = path / f"{kind}.html", path / f"{kind}.json" if numbers else None
        if not path.is_dir():
            check_out_file(path, kind)  # that the folder can be made
            return page, file
    elif not page and not file:
        check_out_file(path, f"{kind}.html")  # no device, no pipe
        what = f"{suffix} is no kind of file that is written" if suffix else "this is a file"
        kinds = "a folder, FILE.json or FILE.html" if numbers else "a folder or FILE.html"
        raise UsageError(f"--out {path}: {what}; name {kinds}")
    if page:
        check_page_file(page, mark, overwrite)
    if file and numbers:
        _check_replaceable(file, numbers, kind, "file", "--out", overwrite)
    return page, file


def make_folder(path: Path) -> None:
    """Make the folder of a file that is about to be written. Raises WriteError."""
    try:
        path.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise write_error(path, error) from error


def check_ours(path: Path, mark: str, what: str, option: str = "--out") -> None:
    """Check that a file that is there is `what`: its beginning has the mark. Raises OutputError."""
    try:
        with path.open("rb") as file:
            ours = mark.encode() in file.read(_BEGINNING)
    except FileNotFoundError:
        return
    except OSError as error:
        raise OutputError(
            f"{path} cannot be read ({error.strerror}); choose another {option}"
        ) from None
    if not ours:
        raise OutputError(f"{path} exists and is no {what}, so it stays; choose another {option}")
