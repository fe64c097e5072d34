"""The stores in the folder of a graph: one is in use, others are being filled or still read."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from trueground.graph.embedded.file import STORE

# RocksDB never changes these once they are written.
_UNCHANGING = ".sst"


def fresh_store(folder: Path) -> Path:
    """A name for a store that nothing has yet."""
    taken = {one.name for one in folder.iterdir()}
    number = 1
    while f"{STORE}{number}" in taken:
        number += 1
    return folder / f"{STORE}{number}"


def copy_store(old: Path, new: Path) -> None:
    """A copy of a store that shares the files that never change. OSError."""
    new.mkdir()
    for one in old.iterdir():
        if one.name in ("LOCK", "LOG"):
            continue
        if one.suffix == _UNCHANGING:
            with suppress(OSError):  # a file system without links
                os.link(one, new / one.name)
                continue
        shutil.copyfile(one, new / one.name)


def remove_stores(folder: Path, but: str | None) -> None:
    """Remove stores that graph.json does not name: broken off, or replaced and no longer read."""
    for one in folder.glob(f"{STORE}*"):
        if one.name != but:
            with _unread(one) as unread:
                if unread:
                    shutil.rmtree(one, ignore_errors=True)


class HeldStore:
    """A store that is not removed before this is closed or forgotten, where folders have locks.

    RocksDB opens its files when it needs them, so a reader fails once they are gone.
    BlockingIOError: it is being removed; FileNotFoundError: it is gone.
    """

    def __init__(self, store: Path) -> None:
        self._number: int | None = None
        self._number = _lock(store, shared=True)

    def close(self) -> None:
        """Let it go."""
        if self._number is not None:
            os.close(self._number)
            self._number = None

    def __del__(self) -> None:
        self.close()


@contextmanager
def _unread(store: Path) -> Iterator[bool]:
    """Whether nobody reads the store; meanwhile nobody begins to."""
    try:
        number = _lock(store, shared=False)
    except OSError:
        yield False
        return
    try:
        yield True
    finally:
        if number is not None:
            os.close(number)


def _lock(store: Path, *, shared: bool) -> int | None:
    number = os.open(store, os.O_RDONLY)
    try:
        fcntl.flock(number, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(number)
        raise
    except OSError:
        os.close(number)
        return None
    return number
