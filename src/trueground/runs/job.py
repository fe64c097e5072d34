"""A job: a run or a build in a folder, written by one process at a time, in several sessions.

Its life is the same for both. `Job.find` says what is in the folder, or refuses it. `Job.hold`
locks it. `next_session` counts sessions and keeps the start of the first. `noting_end` writes how a
session ended into the manifest. `Job.shards` are parts that other processes write.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from trueground.errors import OutputError, RunInterrupted, TruegroundError, WriteError
from trueground.files import FolderLock, OutputPath
from trueground.runs.directory import MANIFEST
from trueground.runs.identity import FINISHED

SHARDS = "shards"  # the folder of a sharded job that is not merged yet
MERGED_SHARDS = ".shards"  # what a killed `Shards.remove` leaves
LOCK_WAIT_SECONDS = 0.2  # a reader that looks whether a job is being written holds it for less


class JobKind(NamedTuple):
    """What a job is called in messages, and what its folder holds.

    A manifest of this kind has `entries`. `is_left_over` says of an entry of the folder whether a
    killed job of this kind may leave it before it has a manifest.
    """

    noun: str
    entries: tuple[str, ...]
    is_left_over: Callable[[Path], bool]


class SessionStart(NamedTuple):
    """The number of a session, counted from 1, and when the first one began, if not with it."""

    number: int
    start: str | None


class Shards:
    """The folders of a job's shards. Those of killed writers begin with a dot."""

    def __init__(self, job: Path) -> None:
        self._job = job
        self._path = job / SHARDS

    def folder(self, number: int, of: int) -> Path:
        """Return the folder of a shard, counted from 0. Makes nothing.

        Raises OutputError if there are shards of another kind, or another number of them.
        """
        for entry in self._path.glob("[!.]*"):
            if not entry.name.endswith(f"-of-{of:05}"):
                raise OutputError(
                    f"{self._path} holds {entry.name}, which is no shard of {of}; give the same "
                    "--shard I/N as before, or choose another --out"
                )
        return self._path / f"{number + 1:05}-of-{of:05}"

    def folders(self) -> list[Path]:
        """Return the folders that exist, in order."""
        return sorted(self._path.glob("*-of-*"))

    def check_none(self) -> None:
        """Raise OutputError if shards wait to be merged."""
        path = self._path
        if path.is_dir() and any(not entry.name.startswith(".") for entry in path.iterdir()):
            raise OutputError(
                f"{self._job} holds an unfinished run in shards. Resume it by the command that "
                f"began it, or merge it by `trueground merge {shlex.quote(str(self._job))}` if all "
                f"shards are done. Or choose another --out. To give the shards up, remove {path}"
            )

    def remove(self) -> None:
        """Remove the shards at once after they are merged. Raises WriteError."""
        self.remove_merged()
        try:
            self._path.rename(self._job / MERGED_SHARDS)
        except OSError as error:
            raise WriteError.stopped(self._path, error) from error
        self.remove_merged()

    def remove_merged(self) -> None:
        """Remove what a killed `remove` left."""
        shutil.rmtree(self._job / MERGED_SHARDS, ignore_errors=True)


class Job:
    """The folder of a run or a build."""

    def __init__(self, path: Path, kind: JobKind) -> None:
        self.path = path
        self.kind = kind
        self.shards = Shards(path)

    def find(self) -> dict[str, Any] | None:
        """Return the manifest of the job in the folder. Makes nothing.

        Returns:
            The manifest; None if there is no more than a killed job may leave.

        Raises:
            OutputError: The folder is a file, holds other files, or isn't writable.
        """
        self._check_no_file()
        if not self.path.exists():
            return None
        manifest = None
        if any(not self._is_left_over(entry) for entry in self.path.iterdir()):
            manifest = self._read_manifest()
            if manifest is None:
                raise OutputError(
                    f"{self.path} holds files but no {self.kind.noun}, so it is left alone; choose "
                    "another --out"
                )
        if not os.access(self.path, os.W_OK):
            raise OutputError(
                f"{self.path} is not writable; choose another --out or fix its permissions"
            )
        return manifest

    def make_folder(self) -> None:
        """Make the folder if it doesn't exist. Raises OutputError."""
        self._check_no_file()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError.unusable(self.path, error) from error

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Make the folder and lock it for this process. Raises OutputError if it is in use."""
        self.make_folder()
        busy = OutputError(
            f"{self.path} is in use by another {self.kind.noun}; wait for it or choose another "
            "--out"
        )
        with FolderLock(self.path).hold(busy, LOCK_WAIT_SECONDS):
            self.shards.remove_merged()
            yield

    def _is_left_over(self, entry: Path) -> bool:
        """Return whether a killed job may leave this entry before it has a manifest."""
        if entry.name in (SHARDS, MERGED_SHARDS):
            return entry.is_dir()
        is_unfinished = entry.name == OutputPath(entry.with_name(MANIFEST)).part.name
        return is_unfinished or self.kind.is_left_over(entry)

    def _check_no_file(self) -> None:
        try:
            is_file = self.path.exists() and not self.path.is_dir()
        except OSError as error:
            raise OutputError.unusable(self.path, error) from error
        if is_file:
            raise OutputError(f"{self.path} is a file; --out must name a folder")

    def _read_manifest(self) -> dict[str, Any] | None:
        try:
            manifest = orjson.loads((self.path / MANIFEST).read_bytes())
        except (OSError, ValueError):
            return None
        if not isinstance(manifest, dict) or not manifest.keys() >= set(self.kind.entries):
            return None
        return manifest


def next_session(earlier: Mapping[str, Any] | None) -> SessionStart:
    """Return the session that begins; `earlier` is the manifest of the last one."""
    entries = earlier or {}
    number = entries.get("sessions")
    return SessionStart(1 + (number if isinstance(number, int) else 0), entries.get("start"))


def status_after(error: BaseException | None) -> str:
    """Return the status of a job whose session ended with this error, or without one."""
    if error is None:
        return FINISHED
    from asyncio import CancelledError  # loaded already if a job was canceled

    if isinstance(error, KeyboardInterrupt | CancelledError | RunInterrupted):
        return "interrupted"
    return "failed"


@contextmanager
def noting_end(write: Callable[[BaseException], None]) -> Iterator[None]:
    """If the work inside fails or is interrupted, call `write` with the error.

    `write` writes the manifest. If it fails, for example because the disk is full, the error of the
    work is raised nevertheless.
    """
    try:
        yield
    except BaseException as error:
        with suppress(TruegroundError):
            write(error)
        raise
