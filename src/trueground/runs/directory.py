"""A run directory while it is being written, and single files that a command writes.

Files are either replaced as a whole (JSON, page) or appended to in whole pieces: when the disk is
full, the unfinished piece is cut off again, so that what was finished stays intact. Whatever is to
be written is checked before any work is done, and another's file is never replaced.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import Any, BinaryIO, Self

import orjson
import zstandard

from trueground._version import __version__
from trueground.errors import InputError, OutputError, TruegroundError, UsageError, WriteError
from trueground.files.locks import FolderLock
from trueground.files.writing import NewFolders, open_no_follow, part_of, write_atomically
from trueground.runs.identity import find_differences, is_finished, refuse
from trueground.runs.progress import Progress

MANIFEST = "manifest.json"
SUMMARY = "summary.json"
ITEMS = "items.jsonl"
RECORDS = "records.jsonl.zst"
REPORT = "report.html"
RESPONSES = "responses.jsonl"
REPEATS = "repeats.jsonl"
BATCHES = "batches.json"
PROGRESS = "progress.bin"  # of an unfinished run of `score`: what is scored already
SHARDS = "shards"  # the folder of a sharded run that is not merged yet
_MERGED_SHARDS = ".shards"  # what a killed `remove_shards` leaves
# What a run may have written: the only files that --overwrite removes.
_OURS = (MANIFEST, SUMMARY, ITEMS, RECORDS, REPORT, RESPONSES, BATCHES, REPEATS, PROGRESS)
_DEFAULT_NAME = re.compile(r"\d{8}T\d{6}Z-(?P<name>.+)")  # see `default_path`
OTHER_FILE = re.compile(r"\.[a-z][a-z0-9]{1,6}")  # an ending; v1.2 and run.7 may be folders
_BEGINNING = 4_096  # bytes in which a file of ours says what it is
_LOCK_WAIT_SECONDS = 0.2  # a reader that looks whether a run is being written holds it for less


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
            self._file = open_no_follow(path, "r+b" if size else "xb", 0, replace=not size)
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
    """A locked directory in which one run is written, begun from nothing or resumed."""

    earlier: dict[str, Any] | None
    """The manifest of the run that is resumed; None if this one begins."""

    def __init__(
        self,
        path: Path,
        *,
        identity: Mapping[str, Any] | None = None,
        overwrite: bool = False,
        unique: bool = False,
        resume: bool = False,
        sharded: bool = False,
    ) -> None:
        """Take the directory; an unfinished run with the same identity is resumed.

        Args:
            path: The directory, which is made if it does not exist.
            identity: What makes two commands the same run.
            overwrite: Replace another run, or a finished one.
            unique: If `path` exists, take path-2, path-3 …
            resume: Keep a finished run with the same identity; without an identity, any run.
            sharded: Whether the shards in the directory belong to this run.

        Raises:
            OutputError: The directory is in use, or holds what may not be replaced.
        """
        created = NewFolders(path.parent if unique else path)
        self.path = path = _create_free(path) if unique else path
        if unique:
            created.add(path)
        self._pack = zstandard.ZstdCompressor(level=3)
        self._items: AppendFile | None = None
        self._records: AppendFile | None = None
        self._progress: Progress | None = None
        self._identity = identity
        busy = OutputError(f"{path} is in use by another run; wait for it or choose another --out")
        with ExitStack() as stack:
            _create(path)
            stack.enter_context(FolderLock(path).hold(busy, _LOCK_WAIT_SECONDS))
            shutil.rmtree(path / _MERGED_SHARDS, ignore_errors=True)
            if not sharded:
                check_no_shards(path)
            self.earlier = find_earlier(path, identity, overwrite=overwrite, resume=resume)
            begins = self.earlier is None and not (resume and identity is None)
            if begins:
                self._clear()
            if begins or not (path / MANIFEST).exists():
                stack.push(lambda _kind, error, _at: self._undo(error, created))
            self._open = stack.pop_all()

    def restore(self, *, keep_records: bool) -> Iterator[bytes]:
        """Yield the numbers of each batch that an earlier session scored, as `append` took them.

        A batch counts if its lines are in the files unchanged. `begin` goes on after the last one.
        """
        self._progress = Progress(self.path / PROGRESS, self._identity or {})
        records = self.path / RECORDS if keep_records else None
        if self.earlier is not None:
            yield from self._progress.read(self.path / ITEMS, records)

    def begin(self, keep_records: bool = True) -> None:
        """Start items.jsonl, and the file of records, after what `restore` yielded."""
        sizes = (0, 0)
        if self._progress is not None:
            sizes = self._progress.items_bytes, self._progress.records_bytes
            self._progress.start(self._start(PROGRESS, self._progress.bytes).append)
        self._items = self._start(ITEMS, sizes[0])
        if keep_records:
            self._records = self._start(RECORDS, sizes[1])
        else:
            (self.path / RECORDS).unlink(missing_ok=True)

    def _start(self, name: str, size: int) -> AppendFile:
        file = AppendFile(self.path / name, size)
        self._open.callback(file.close)
        return file

    def append(self, items: bytes, records: bytes, numbers: bytes | None = None) -> None:
        """Add whole lines to items.jsonl, and the records as one more zstd frame.

        `numbers` are what `restore` yields again, should the run be resumed.
        """
        if self._items is None:
            self.begin()
        assert self._items is not None
        packed = b""
        if self._records is not None and records:
            packed = self._pack.compress(records)
            self._records.append(packed)
        self._items.append(items)
        if self._progress is not None and numbers is not None:
            self._progress.append(items, packed, numbers)

    def forget_progress(self) -> None:
        """Remove what only an unfinished run needs. Raises WriteError."""
        try:
            (self.path / PROGRESS).unlink(missing_ok=True)
        except OSError as error:
            raise write_error(self.path / PROGRESS, error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self._open.__exit__(*error)

    def _clear(self) -> None:
        """Remove the run in the folder, which counts as unfinished from the first step on."""
        there = {entry.name for entry in self.path.iterdir()}
        if MANIFEST in there:
            stub = {"trueground": __version__, "status": "running", "identity": self._identity}
            write_json(self.path / MANIFEST, stub)
        for name in set(_OURS) - {MANIFEST}:
            self._remove(name, there)
        self._remove(part_of(Path(MANIFEST)).name, there)

    def _remove(self, name: str, there: set[str]) -> None:
        for each in (part_of(Path(name)).name, name):
            if each in there:
                (self.path / each).unlink(missing_ok=True)

    def _undo(self, error: BaseException | None, created: NewFolders) -> None:
        """A run that began here and is refused leaves nothing, if nothing came of it."""
        refused = isinstance(error, TruegroundError) and error.is_refusal
        if refused and all(map(_is_empty, (self.path / n for n in (ITEMS, RESPONSES, BATCHES)))):
            there = {entry.name for entry in self.path.iterdir()}
            for name in reversed(_OURS):  # the manifest, which tells that it is a run, goes last
                self._remove(name, there)
            created.remove_empty()


def open_run(
    out: Path, identity: Mapping[str, Any], *, overwrite: bool, unique: bool
) -> RunDirectory:
    """Take the directory of a run, see `RunDirectory`.

    With `unique` the newest unfinished run with this identity is resumed, if `out` is the default
    path of a run and such a run is next to it. Else a number is appended to `out` if it exists.
    """
    if unique and (match := _DEFAULT_NAME.fullmatch(out.name)):
        folders = sorted(out.parent.glob(f"*Z-{match['name']}*"), reverse=True)
        for folder in folders:
            with suppress(OutputError):  # it is in use, or holds another run or none
                if (found := _resume_in(folder, identity)) is not None:
                    return found
    return RunDirectory(out, identity=identity, overwrite=overwrite, unique=unique)


def _resume_in(path: Path, identity: Mapping[str, Any]) -> RunDirectory | None:
    """Take the directory if it holds an unfinished run with this identity; else None."""
    if not (path / MANIFEST).is_file() or find_earlier(path, identity) is None:
        return None
    return RunDirectory(path, identity=identity)


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
        _read_run(path)


def claim_folder(path: Path, *, overwrite: bool) -> NewFolders:
    """Make the folder of a run that several processes write; those that were not there before.

    OutputError where something is in the way. The folder is not locked.
    """
    made = NewFolders(path)
    _create(path)
    check_no_shards(path)
    find_earlier(path, None, overwrite=overwrite)
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


def remove_shards(out: Path) -> None:
    """Remove the shards below `out`, which are merged, at once. Raises WriteError."""
    gone = out / _MERGED_SHARDS
    shutil.rmtree(gone, ignore_errors=True)
    try:
        (out / SHARDS).rename(gone)
    except OSError as error:
        raise write_error(out / SHARDS, error) from error
    shutil.rmtree(gone, ignore_errors=True)


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
            f"{path} holds an unfinished run in shards. Resume it by the command that began it, "
            f"or merge it by `trueground merge {shlex.quote(str(path))}` if all shards are done. "
            f"Or choose another --out. To give the shards up, remove {shards}"
        )


def find_earlier(
    path: Path,
    identity: Mapping[str, Any] | None,
    *,
    overwrite: bool = False,
    resume: bool = False,
) -> dict[str, Any] | None:
    """Return the manifest of the run that a command resumes in a folder, see `RunDirectory`.

    Returns:
        The manifest; None if the command begins from nothing.

    Raises:
        OutputError: The folder holds what the command may neither resume nor replace.
    """
    manifest = _read_run(path)
    if manifest is None:
        return None
    if identity is None:
        if resume:
            return manifest
    elif isinstance(begun := manifest.get("identity"), dict):
        same = not find_differences(begun, identity)
        if same and (resume or not is_finished(manifest)):
            return manifest
    if overwrite:
        return None
    raise refuse(path, manifest, identity, replaceable=not resume)


def _read_run(path: Path) -> dict[str, Any] | None:
    """The manifest of the run in a folder; None if there is no more than a killed run may leave.

    Raises OutputError: the folder holds what is not ours, or is not writable.
    """
    manifest: dict[str, Any] | None = None
    if any(not _is_left_over(entry) for entry in path.iterdir()):
        try:
            content = orjson.loads((path / MANIFEST).read_bytes())
        except (OSError, ValueError):
            content = None
        if not isinstance(content, dict) or "trueground" not in content:
            raise OutputError(
                f"{path} holds files but no run, so it is left alone; choose another --out"
            )
        manifest = content
    if not os.access(path, os.W_OK):
        raise OutputError(f"{path} is not writable; choose another --out or fix its permissions")
    return manifest


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
    if entry.name in (SHARDS, _MERGED_SHARDS):
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
