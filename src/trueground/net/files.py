"""How files of ours are written: never through a link, and whole where that is asked."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import msgspec


def opened(path: Path, mode: str, buffering: int = -1) -> BinaryIO:
    """A file for writing, in a binary mode as for `open`. OSError, also where it is a link."""
    _check_no_link(path)
    return open(path, mode, buffering, opener=_open)  # type: ignore[return-value]


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


def _check_no_link(path: Path) -> None:
    if path.is_symlink():
        raise OSError(
            errno.ELOOP, "it is a symbolic link, through which nothing is written", str(path)
        )


def opened_new(path: Path, buffering: int = -1) -> BinaryIO:
    """A new file in the place of whatever file or link is there. OSError."""
    path.unlink(missing_ok=True)
    return opened(path, "xb", buffering)


def part_of(path: Path) -> Path:
    """The name under which a file is written that is not whole yet; a kill leaves it there."""
    return path.with_name(f".{path.name}.part")


@contextmanager
def whole(path: Path, *, sync: bool = False) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` when it is whole, or never. OSError.

    With `sync` it is on the disk when that happens, also if the machine stops.
    """
    part = part_of(path)
    try:
        with opened_new(part) as out:
            yield out
            if sync:
                out.flush()
                os.fsync(out.fileno())
        part.replace(path)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def made(folder: Path) -> Path:
    """A folder among files of ours, made if it is not there. OSError, also where it is a link."""
    _check_no_link(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def missing(folder: Path) -> list[Path]:
    """Of the folder and those above it those that are not there, for `remove_empty`."""
    return [one for one in (folder, *folder.parents) if not one.exists()]


def remove_empty(folders: Iterable[Path]) -> None:
    """Remove those of the folders, the innermost first, in which nothing is."""
    for one in folders:
        with suppress(OSError):
            one.rmdir()


def write_state(path: Path, state: Any) -> None:
    """Replace a small JSON file by this state, on the disk when the call returns. OSError."""
    with whole(path, sync=True) as out:
        out.write(msgspec.json.format(msgspec.json.encode(state), indent=2) + b"\n")


def is_state(path: Path, key: str) -> bool:
    """Whether the file is a state with this key, of whatever version, finished or not."""
    try:
        found = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return False
    return isinstance(found, dict) and key in found
