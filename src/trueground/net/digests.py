"""The SHA-256 of files that are read whole, remembered until they change.

Weights have gigabytes, which take seconds to read: what was found is kept in a small file, under
the file's path and what the file system says of it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import time
from pathlib import Path

import msgspec

from trueground.net.home import home

_SMALL = 1_000_000  # bytes that are read faster than remembered
_MOST = 1_000
# File systems tell time in steps: a file may be changed once more without a later time.
_SETTLED_NS = 3_000_000_000


class _Known(msgspec.Struct, frozen=True):
    """A digest, with size, inode, time of the content and time of any change (ns)."""

    digest: str
    stat: tuple[int, int, int, int]


_Memory = dict[str, _Known]


def digests_path() -> Path:
    """Where digests are remembered."""
    return home() / "digests.json"


def file_digest(file: Path) -> str:
    """The SHA-256 of the file's content, in hex. Raises OSError where it cannot be read."""
    stat = _stat(file)
    if stat[0] < _SMALL:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    path = str(file.resolve())
    known = _read().get(path)
    if known is not None and known.stat == stat:
        return known.digest
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if _stat(file) == stat and max(stat[2:]) < time.time_ns() - _SETTLED_NS:
        _remember(path, _Known(digest, stat))
    return digest


def _stat(file: Path) -> tuple[int, int, int, int]:
    found = file.stat()
    return found.st_size, found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def _read() -> _Memory:
    try:
        return msgspec.json.decode(digests_path().read_bytes(), type=_Memory)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return {}


def _remember(path: str, known: _Known) -> None:
    """Keep it for later runs, where that can be; of two at once, one may be lost."""
    memory = _read()
    memory.pop(path, None)
    kept = dict([*memory.items(), (path, known)][-_MOST:])
    place = digests_path()
    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(prefix=".digests-", dir=place.parent)
        try:
            with os.fdopen(number, "wb") as stream:
                stream.write(msgspec.json.encode(kept))
            Path(name).replace(place)
        except OSError:
            Path(name).unlink(missing_ok=True)
