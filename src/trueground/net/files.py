"""Where files of ours lie, how they are written, locked and told apart.

Nothing is written through a link; a file appears when it is complete; a folder has one writer.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec

from trueground.errors import OutputError

T = TypeVar("T")
_LOCK_STEP_S = 0.05
_REMEMBER_ABOVE = 1_000_000  # bytes; less is read faster than remembered
_MOST_DIGESTS = 1_000
# File systems tell time in steps: a file may be changed once more without a later time.
_SETTLED_NS = 3_000_000_000


def open_no_follow(path: Path, mode: str, buffering: int = -1) -> BinaryIO:
    """A file for writing, in a binary mode as for `open`. OSError, also where it is a link."""
    _check_no_link(path)
    return open(  # type: ignore[return-value]
        path, mode, buffering, opener=lambda p, flags: os.open(p, flags | os.O_NOFOLLOW, 0o666)
    )


def _check_no_link(path: Path) -> None:
    if path.is_symlink():
        raise OSError(
            errno.ELOOP, "it is a symbolic link, through which nothing is written", str(path)
        )


def create_new(path: Path, buffering: int = -1) -> BinaryIO:
    """A new file in the place of whatever file or link is there. OSError."""
    path.unlink(missing_ok=True)
    return open_no_follow(path, "xb", buffering)


def part_of(path: Path) -> Path:
    """The name under which an unfinished file is written; a kill leaves it there."""
    return path.with_name(f".{path.name}.part")


@contextmanager
def write_atomically(path: Path, *, sync: bool = False) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` when it is complete, or never. OSError.

    With `sync` it is on the disk when that happens, also if the machine stops.
    """
    part = part_of(path)
    try:
        with create_new(part) as out:
            yield out
            if sync:
                out.flush()
                os.fsync(out.fileno())
        part.replace(path)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def make_folder(folder: Path) -> Path:
    """A folder among files of ours, made if it is not there. OSError, also where it is a link."""
    _check_no_link(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def missing_folders(folder: Path) -> list[Path]:
    """Of the folder and those above it those that are not there, for `remove_empty`."""
    return [one for one in (folder, *folder.parents) if not one.exists()]


def remove_empty(folders: Iterable[Path]) -> None:
    """Remove those of the folders, the innermost first, in which nothing is."""
    for one in folders:
        with suppress(OSError):
            one.rmdir()


def write_state(path: Path, state: Any) -> None:
    """Replace a small JSON file by this state, on the disk when the call returns. OSError."""
    with write_atomically(path, sync=True) as out:
        out.write(msgspec.json.format(msgspec.json.encode(state), indent=2) + b"\n")


def read_state(path: Path, kind: type[T], key: str, version: int) -> T:
    """The state in a file, of this version under `key`. OSError; ValueError says what is wrong."""
    content = path.read_bytes()
    try:
        found = msgspec.json.decode(content)
        there = found.get(key) if isinstance(found, dict) else None
        if there != version:
            raise ValueError(f"found format {there}, and this trueground reads format {version}")
        return msgspec.json.decode(content, type=kind)
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from error


def is_state(path: Path, key: str) -> bool:
    """Whether the file is a state with this key, of whatever version, finished or not."""
    try:
        found = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return False
    return isinstance(found, dict) and key in found


@contextmanager
def locked(
    folder: Path,
    busy: Exception,
    wait: float = 0.0,
    waiting: Callable[[float], None] = lambda _seconds: None,
) -> Iterator[None]:
    """Hold the folder for one writer; the lock dies with its process.

    Raises `busy` if another holds it for longer than `wait` seconds, which may be infinite; before
    each further attempt `waiting` is called with the seconds so far, and what it raises ends the
    waiting, as Ctrl-C does. The folder must exist. OSError where it cannot be opened, OutputError
    where the file system has no locks.
    """
    # The folder itself is locked, so that no lock file is left behind.
    number = os.open(folder, os.O_RDONLY)
    begun = time.monotonic()
    try:
        while True:
            try:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                pass
            except OSError as error:
                raise OutputError(
                    f"{folder} cannot be held for one writer: {error.strerror or error}; choose a "
                    "folder on a file system that has locks"
                ) from error
            if (waited := time.monotonic() - begun) >= wait:
                raise busy
            waiting(waited)
            time.sleep(_LOCK_STEP_S)
        yield
    finally:
        os.close(number)


def is_locked(folder: Path) -> bool:
    """Return whether a process holds the folder (see `locked`); False if that cannot be seen."""
    try:
        number = os.open(folder, os.O_RDONLY)
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


class _KnownDigest(msgspec.Struct, frozen=True):
    """A digest, with size, inode, time of the content and time of any change (ns)."""

    digest: str
    stat: tuple[int, int, int, int]


def digests_path() -> Path:
    """Where the digests of large files are remembered."""
    return home() / "digests.json"


def file_digest(file: Path) -> str:
    """The SHA-256 of the file's content, in hex. Raises OSError where it cannot be read.

    Weights have gigabytes, which take seconds to read: the digest of a large file is remembered
    under its path and what the file system says of it.
    """
    stat = _stat(file)
    if stat[0] < _REMEMBER_ABOVE:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    path = str(file.resolve())
    known = _read_digests().get(path)
    if known is not None and known.stat == stat:
        return known.digest
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if _stat(file) == stat and max(stat[2:]) < time.time_ns() - _SETTLED_NS:
        memory = _read_digests()
        memory.pop(path, None)
        memory[path] = _KnownDigest(digest, stat)
        memory = dict([*memory.items()][-_MOST_DIGESTS:])
        # Of two processes at once, one may be lost.
        with contextlib.suppress(OSError):
            digests_path().parent.mkdir(parents=True, exist_ok=True)
            part = digests_path().with_name(f".digests-{os.getpid()}")
            with create_new(part) as out:
                out.write(msgspec.json.encode(memory))
            part.replace(digests_path())
    return digest


def _stat(file: Path) -> tuple[int, int, int, int]:
    found = file.stat()
    return found.st_size, found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def _read_digests() -> dict[str, _KnownDigest]:
    try:
        return msgspec.json.decode(digests_path().read_bytes(), type=dict[str, _KnownDigest])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return {}


HOME_VARIABLE = "TRUEGROUND_HOME"
_YES = ("1", "on", "yes", "true")


def home() -> Path:
    """$TRUEGROUND_HOME, else the platform's cache folder of this user. Nothing is made here."""
    chosen = os.environ.get(HOME_VARIABLE)
    if chosen:
        return Path(chosen).expanduser().absolute()
    from platformdirs import user_cache_path

    return user_cache_path("trueground", appauthor=False)


def is_offline() -> bool:
    """Whether $HF_HUB_OFFLINE forbids to fetch anything from the Hugging Face Hub."""
    return os.environ.get("HF_HUB_OFFLINE", "").lower() in _YES
