"""A folder for one writer at a time."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from trueground.errors import OutputError

# Where the system cannot lock a folder, this file in it is locked.
LOCK = ".lock"
_STEP = 0.05  # seconds between two attempts

# waiting(seconds): how long another process has been waited for so far.
Waiting = Callable[[float], None]


def no_waiting(_seconds: float) -> None:
    """Say nothing."""


@contextmanager
def locked(
    folder: Path, busy: Exception, wait: float = 0.0, waiting: Waiting = no_waiting
) -> Iterator[None]:
    """Hold the folder for one writer; the lock dies with its process.

    Raises `busy` if another holds it for longer than `wait` seconds, which may be infinite; before
    each further attempt `waiting` is called, and what it raises ends the waiting, as Ctrl-C does.
    The folder must exist. OSError where it cannot be opened, OutputError where the file system has
    no locks.
    """
    if sys.platform == "win32":
        import filelock

        lock = filelock.FileLock(folder / LOCK)

        def attempt() -> bool:
            try:
                lock.acquire(timeout=0)
            except filelock.Timeout:
                return False
            return True

        _until(attempt, busy, wait, waiting)
        try:
            yield
        finally:
            lock.release()
        return
    # The folder itself is locked, so that no lock file is left behind.
    opened = os.open(folder, os.O_RDONLY)
    try:
        _until(lambda: _lock(opened, folder), busy, wait, waiting)
        yield
    finally:
        os.close(opened)


def _until(attempt: Callable[[], bool], busy: Exception, wait: float, waiting: Waiting) -> None:
    begun = time.monotonic()
    while not attempt():
        if (waited := time.monotonic() - begun) >= wait:
            raise busy
        waiting(waited)
        time.sleep(_STEP)


def _lock(opened: int, folder: Path) -> bool:
    """Whether the folder is held now. OutputError."""
    if sys.platform == "win32":
        raise AssertionError("files are locked there")
    import fcntl

    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise OutputError(
            f"{folder} cannot be held for one writer: {error.strerror or error}; choose a "
            "folder on a file system that has locks"
        ) from error
    return True
