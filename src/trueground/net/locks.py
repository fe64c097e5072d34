"""A folder for one writer at a time."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trueground.errors import OutputError

# Where the system cannot lock a folder, this file in it is locked.
LOCK = ".lock"
_STEP = 0.05  # seconds between two attempts


@contextmanager
def locked(folder: Path, busy: Exception, wait: float = 0.0) -> Iterator[None]:
    """Hold the folder for one writer; the lock dies with its process.

    Raises `busy` if another holds it for longer than `wait` seconds. The folder must exist.
    OSError where it cannot be opened, OutputError where the file system has no locks.
    """
    if sys.platform == "win32":
        import filelock

        lock = filelock.FileLock(folder / LOCK, timeout=wait)
        try:
            lock.acquire()
        except filelock.Timeout:
            raise busy from None
        try:
            yield
        finally:
            lock.release()
        return
    # The folder itself is locked, so that no lock file is left behind.
    opened = os.open(folder, os.O_RDONLY)
    try:
        _lock(opened, folder, busy, time.monotonic() + wait)
        yield
    finally:
        os.close(opened)


def _lock(opened: int, folder: Path, busy: Exception, until: float) -> None:
    if sys.platform == "win32":
        raise AssertionError("files are locked there")
    import fcntl

    while True:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= until:
                raise busy from None
        except OSError as error:
            raise OutputError(
                f"{folder} cannot be held for one writer: {error.strerror or error}; choose a "
                "folder on a file system that has locks"
            ) from error
        time.sleep(_STEP)
