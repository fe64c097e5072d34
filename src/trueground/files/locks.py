"""Locks on folders: one writer at a time, also within a process."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from trueground.errors import OutputError

_STEP_SECONDS = 0.05  # between two attempts


class FolderLock:
    """The right to write in a folder. It ends with the process that holds it.

    The folder itself is locked, so that no lock file is left behind.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def hold(
        self,
        busy: Exception,
        wait: float = 0.0,
        waiting: Callable[[float], None] = lambda _seconds: None,
    ) -> Iterator[None]:
        """Hold the folder, which must exist, until the block ends.

        Args:
            busy: Raised if another holds the folder for longer than `wait`.
            wait: Seconds, which may be infinite.
            waiting: Called before each further attempt with the seconds so far. What it raises ends
                the waiting, as Ctrl-C does.

        Raises:
            OSError: The folder can't be opened.
            OutputError: The file system has no locks.
        """
        number = os.open(self._folder, os.O_RDONLY)
        begun = time.monotonic()
        try:
            while not self._try_lock(number):
                waited = time.monotonic() - begun
                if waited >= wait:
                    raise busy
                waiting(waited)
                time.sleep(_STEP_SECONDS)
            yield
        finally:
            os.close(number)

    def is_held(self) -> bool:
        """Return whether a process holds the folder; False if that can't be seen."""
        try:
            number = os.open(self._folder, os.O_RDONLY)
        except OSError:
            return False
        try:
            fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        finally:
            os.close(number)
        return False

    def _try_lock(self, number: int) -> bool:
        """Return False if another holds the folder. Raises OutputError."""
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            raise OutputError(
                f"{self._folder} cannot be held for one writer: {error.strerror or error}; choose "
                "a folder on a file system that has locks"
            ) from error
        return True
