"""A folder for one writer at a time."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Where the system cannot lock a folder, this file in it is locked.
LOCK = ".lock"


@contextmanager
def locked(folder: Path, busy: Exception) -> Iterator[None]:
    """Hold the folder for one writer; the lock dies with its process. Raises `busy` if it is held.

    The folder must exist. OSError where it cannot be opened.
    """
    if sys.platform == "win32":
        import filelock

        try:
            with filelock.FileLock(folder / LOCK, blocking=False):
                yield
        except filelock.Timeout:
            raise busy from None
        return
    import fcntl

    # The folder itself is locked, so that no lock file is left behind.
    opened = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise busy from None
        yield
    finally:
        os.close(opened)
