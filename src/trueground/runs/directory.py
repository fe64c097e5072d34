"""The names of a run directory's files, its default path, and files that grow.

Files are either replaced as a whole (`OutputPath`) or appended to in whole pieces: when the disk is
full, the unfinished piece is cut off again, so that what was finished stays intact.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path

from trueground.errors import WriteError
from trueground.files import OutputPath

MANIFEST = "manifest.json"
SUMMARY = "summary.json"
ITEMS = "items.jsonl"
RECORDS = "records.jsonl.zst"
REPORT = "report.html"
RESPONSES = "responses.jsonl"
REPEATS = "repeats.jsonl"
BATCHES = "batches.json"
PROGRESS = "progress.bin"  # of an unfinished run of `score`: what is scored already


def default_path(name: str, now: datetime | None = None) -> Path:
    """runs/<utc-time>-<name>."""
    stamp = (now or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
    return Path("runs") / f"{stamp}-{OutputPath.safe_name(name)}"


def free_path(name: str) -> Path:
    """The default path, or with a number behind it where a command of the same second took it."""
    return next(path for path in numbered_paths(default_path(name)) if not path.exists())


def numbered_paths(path: Path) -> Iterator[Path]:
    """Yield path, path-2, path-3 …"""
    return chain([path], (path.with_name(f"{path.name}-{number}") for number in count(2)))


def count_lines(path: Path) -> int:
    """Number of line ends in a file; 0 if there is none."""
    if not path.exists():
        return 0
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


class AppendFile:
    """A file that grows by whole pieces only. Nothing is buffered: closing cannot lose anything.

    `size` is in bytes, those found at the start included.
    """

    def __init__(self, path: Path, size: int = 0) -> None:
        """Begin behind the first `size` bytes of what is there; the rest is cut off."""
        self.path = path
        self.size = size
        try:
            self._file = OutputPath(path).open_no_follow(
                "r+b" if size else "xb", 0, replace=not size
            )
            self._file.truncate(size)
            self._file.seek(size)
        except OSError as error:
            raise WriteError.stopped(path, error) from error
        self.close = self._file.close

    def append(self, piece: bytes) -> None:
        """Write the piece, or nothing of it. Raises WriteError."""
        done = False
        try:
            view = memoryview(piece)
            while len(view):
                view = view[self._file.write(view) :]
            done = True
            self.size += len(piece)
        except OSError as error:
            raise WriteError.stopped(self.path, error) from error
        finally:
            if not done:  # Ctrl-C in the middle of a piece, too
                self._file.truncate(self.size)
                self._file.seek(self.size)
