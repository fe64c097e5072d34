"""The directory of a run while it is being written: begun from nothing, or resumed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import zstandard

from trueground._version import __version__
from trueground.errors import OutputError, TruegroundError, WriteError
from trueground.files import NewFolders, OutputPath
from trueground.runs.directory import (
    BATCHES,
    ITEMS,
    MANIFEST,
    PROGRESS,
    RECORDS,
    REPEATS,
    REPORT,
    RESPONSES,
    SUMMARY,
    AppendFile,
    numbered_paths,
)
from trueground.runs.identity import find_differences, is_finished, refuse
from trueground.runs.job import Job
from trueground.runs.progress import Progress

# What a run may have written: the only files that --overwrite removes.
_RUN_FILES = (MANIFEST, SUMMARY, ITEMS, RECORDS, REPORT, RESPONSES, BATCHES, REPEATS, PROGRESS)
_DEFAULT_NAME = re.compile(r"\d{8}T\d{6}Z-(?P<name>.+)")  # see `default_path`


def _is_empty(path: Path) -> bool:
    return not path.exists() or not path.stat().st_size


class RunFolder(Job):
    """The folder of a run, which this process hasn't locked."""

    noun = "run"
    entries = ("trueground",)

    def is_left_over(self, entry: Path) -> bool:
        """Return whether a killed run may leave this entry before it has a manifest."""
        if entry.name in (RESPONSES, ITEMS, RECORDS):
            return entry.is_file() and _is_empty(entry)
        return entry.name in [OutputPath(entry.with_name(name)).part.name for name in _RUN_FILES]


class RunDirectory(RunFolder):
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
        path = _create_free(path) if unique else path
        if unique:
            created.add(path)
        super().__init__(path)
        self._pack = zstandard.ZstdCompressor(level=3)
        self._items: AppendFile | None = None
        self._records: AppendFile | None = None
        self._progress: Progress | None = None
        self._identity = identity
        with ExitStack() as stack:
            stack.enter_context(self.hold())
            if not sharded:
                self.shards.check_none()
            self.earlier = self.find_earlier(path, identity, overwrite=overwrite, resume=resume)
            begins = self.earlier is None and not (resume and identity is None)
            if begins:
                self._clear()
            if begins or not (path / MANIFEST).exists():
                stack.push(lambda _kind, error, _at: self._undo(error, created))
            self._open = stack.pop_all()

    # Before the directory is locked

    @staticmethod
    def default_path(name: str, now: datetime | None = None) -> Path:
        """Return runs/<utc-time>-<name>, the directory of a run that begins now."""
        stamp = (now or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
        return Path("runs") / f"{stamp}-{OutputPath.safe_name(name)}"

    @classmethod
    def free_path(cls, name: str) -> Path:
        """Return the default path, with a number appended if it exists."""
        paths = numbered_paths(cls.default_path(name))
        return next(path for path in paths if not path.exists())

    @classmethod
    def open(
        cls, out: Path, identity: Mapping[str, Any], *, overwrite: bool, unique: bool
    ) -> RunDirectory:
        """Take the directory of a run, see `RunDirectory`.

        With `unique` the newest unfinished run with this identity is resumed, if `out` is the
        default path of a run and such a run is next to it. Else a number is appended to `out` if it
        exists.
        """
        if unique and (match := _DEFAULT_NAME.fullmatch(out.name)):
            folders = sorted(out.parent.glob(f"*Z-{match['name']}*"), reverse=True)
            for folder in folders:
                with suppress(OutputError):  # it is in use, or holds another run or none
                    if (resumed := cls._resume_in(folder, identity)) is not None:
                        return resumed
        return cls(out, identity=identity, overwrite=overwrite, unique=unique)

    @classmethod
    def _resume_in(cls, path: Path, identity: Mapping[str, Any]) -> RunDirectory | None:
        """Take the directory if it holds an unfinished run with this identity; else None."""
        if not (path / MANIFEST).is_file() or cls.find_earlier(path, identity) is None:
            return None
        return cls(path, identity=identity)

    @staticmethod
    def check_resumable(path: Path, *, sharded: bool = False) -> None:
        """Check that a run can begin or be resumed in this folder. Makes nothing.

        Args:
            path: The folder.
            sharded: Whether the shards in the folder belong to this run.

        Raises:
            OutputError: The folder holds something else.
        """
        folder = RunFolder(path)
        folder.find()
        if not sharded:
            folder.shards.check_none()

    @classmethod
    def claim(cls, path: Path, *, overwrite: bool) -> NewFolders:
        """Make the folder of a run that several processes write, without locking it.

        Returns:
            The folders that did not exist before.

        Raises:
            OutputError: The folder holds what may not be replaced.
        """
        made = NewFolders(path)
        folder = RunFolder(path)
        folder.make_folder()
        folder.shards.check_none()
        cls.find_earlier(path, None, overwrite=overwrite)
        return made

    @staticmethod
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
        manifest = RunFolder(path).find()
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

    # While it is written

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
            raise WriteError.stopped(self.path / PROGRESS, error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self._open.__exit__(*error)

    def _clear(self) -> None:
        """Remove the run in the folder, which counts as unfinished from the first step on."""
        there = {entry.name for entry in self.path.iterdir()}
        if MANIFEST in there:
            stub = {
                "trueground": __version__,
                "status": "running",
                "sessions": 1,
                "identity": self._identity,
            }
            OutputPath(self.path / MANIFEST).write_json(stub)
        for name in set(_RUN_FILES) - {MANIFEST}:
            self._remove(name, there)
        self._remove(OutputPath(Path(MANIFEST)).part.name, there)

    def _remove(self, name: str, there: set[str]) -> None:
        for each in (OutputPath(Path(name)).part.name, name):
            if each in there:
                (self.path / each).unlink(missing_ok=True)

    def _undo(self, error: BaseException | None, created: NewFolders) -> None:
        """A run that began here and is refused leaves nothing, if nothing came of it."""
        refused = isinstance(error, TruegroundError) and error.is_refusal
        if refused and all(map(_is_empty, (self.path / n for n in (ITEMS, RESPONSES, BATCHES)))):
            there = {entry.name for entry in self.path.iterdir()}
            for name in reversed(
                _RUN_FILES
            ):  # the manifest, which tells that it is a run, goes last
                self._remove(name, there)
            created.remove_empty()


def _create_free(path: Path) -> Path:
    """A directory that nobody else has made: the path itself, or with a number behind it."""
    for free in numbered_paths(path):
        try:
            free.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise OutputError.unusable(free, error) from error
        return free
    raise AssertionError("numbers do not end")
