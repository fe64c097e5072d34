"""Opening files for writing, and folders for them.

Nothing is written through a link, and a file appears when it is complete.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


def open_no_follow(
    path: Path, mode: str, buffering: int = -1, *, replace: bool = False
) -> BinaryIO:
    """Open a file for writing. OSError, also if it is a link.

    Args:
        path: The file.
        mode: A binary mode as for `open`.
        buffering: As for `open`.
        replace: Remove the file or link that is there first.
    """
    if replace:
        path.unlink(missing_ok=True)
    _check_no_link(path)
    return open(  # type: ignore[return-value]
        path, mode, buffering, opener=lambda p, flags: os.open(p, flags | os.O_NOFOLLOW, 0o666)
    )


def _check_no_link(path: Path) -> None:
    if path.is_symlink():
        raise OSError(
            errno.ELOOP, "it is a symbolic link, through which nothing is written", str(path)
        )


def part_of(path: Path) -> Path:
    """Return the name under which an unfinished file is written; a kill leaves it there."""
    return path.with_name(f".{path.name}.part")


@contextmanager
def write_atomically(path: Path, *, sync: bool = False) -> Iterator[BinaryIO]:
    """Open a file that takes the place of `path` when it is complete, or never. OSError.

    With `sync` it is on the disk when that happens, also if the machine stops.
    """
    part = part_of(path)
    try:
        with open_no_follow(part, "xb", replace=True) as out:
            yield out
            if sync:
                out.flush()
                os.fsync(out.fileno())
        part.replace(path)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def make_folder(folder: Path) -> Path:
    """Make a folder if it doesn't exist, and return it. OSError, also if it is a link."""
    _check_no_link(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class NewFolders:
    """The folders that work is about to make, so that they can be removed if nothing is in them."""

    def __init__(self, folder: Path) -> None:
        """Note which of the folder and its parents don't exist yet."""
        self._folders = [each for each in (folder, *folder.parents) if not each.exists()]

    def add(self, folder: Path) -> None:
        """Note another folder, which lies inside the others."""
        self._folders.insert(0, folder)

    def remove_empty(self) -> None:
        """Remove those that exist and are empty, the innermost first."""
        for folder in self._folders:
            with suppress(OSError):
                folder.rmdir()
