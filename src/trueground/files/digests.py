"""Checksums of files; those of large files are remembered."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from pathlib import Path

import msgspec

from trueground.files.home_folder import home
from trueground.files.writing import open_no_follow

_REMEMBER_ABOVE = 1_000_000  # bytes; less is read faster than remembered
_MAX_DIGESTS = 1_000
# File systems tell time in steps: a file may be changed once more without a later time.
_SETTLED_NS = 3_000_000_000


class _KnownDigest(msgspec.Struct, frozen=True):
    """A digest, with size, inode, time of the content and time of any change (ns)."""

    digest: str
    stat: tuple[int, int, int, int]


def digests_path() -> Path:
    """Return where the digests of large files are remembered."""
    return home() / "digests.json"


def file_digest(file: Path) -> str:
    """Return the SHA-256 of the file's content, in hex. Raises OSError if it can't be read.

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
        memory = dict([*memory.items()][-_MAX_DIGESTS:])
        # Of two processes at once, one may be lost.
        with contextlib.suppress(OSError):
            digests_path().parent.mkdir(parents=True, exist_ok=True)
            part = digests_path().with_name(f".digests-{os.getpid()}")
            with open_no_follow(part, "xb", replace=True) as out:
                out.write(msgspec.json.encode(memory))
            part.replace(digests_path())
    return digest


def _stat(file: Path) -> tuple[int, int, int, int]:
    status = file.stat()
    return status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns


def _read_digests() -> dict[str, _KnownDigest]:
    try:
        return msgspec.json.decode(digests_path().read_bytes(), type=dict[str, _KnownDigest])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return {}
