"""The files of a run directory, and single files that a command writes.

Files are either replaced as a whole (JSON, page) or appended to in whole pieces: when the disk is
full, the unfinished piece is cut off again, so that what was finished stays intact. Whatever is to
be written is checked before any work is done, and another's file is never replaced.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from trueground.errors import InputError, OutputError, UsageError, WriteError
from trueground.files import open_no_follow, write_atomically

MANIFEST = "manifest.json"
SUMMARY = "summary.json"
ITEMS = "items.jsonl"
RECORDS = "records.jsonl.zst"
REPORT = "report.html"
RESPONSES = "responses.jsonl"
REPEATS = "repeats.jsonl"
BATCHES = "batches.json"
PROGRESS = "progress.bin"  # of an unfinished run of `score`: what is scored already
OTHER_FILE = re.compile(r"\.[a-z][a-z0-9]{1,6}")  # an ending; v1.2 and run.7 may be folders
_BEGINNING = 4_096  # bytes in which a file of ours says what it is


def safe_name(name: str) -> str:
    """The characters of `name` that a file system takes everywhere; at most 60 of them."""
    safe = "".join(c if c.isalnum() or c in "-_." else "-" for c in name).strip("-.")
    return safe[:60] or "score"


def default_path(name: str, now: datetime | None = None) -> Path:
    """runs/<utc-time>-<name>."""
    stamp = (now or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
    return Path("runs") / f"{stamp}-{safe_name(name)}"


def free_path(name: str) -> Path:
    """The default path, or with a number behind it where a command of the same second took it."""
    return next(path for path in numbered_paths(default_path(name)) if not path.exists())


def numbered_paths(path: Path) -> Iterator[Path]:
    """Yield path, path-2, path-3 …"""
    return chain([path], (path.with_name(f"{path.name}-{number}") for number in count(2)))


def read_manifest(run: Path) -> dict[str, Any] | None:
    """The manifest of a run directory; None where there is none. Raises InputError."""
    path = run / MANIFEST
    try:
        manifest = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({error}); choose another --out") from None
    return manifest if isinstance(manifest, dict) else None


def write_json(path: Path, value: Any) -> None:
    """Replace a JSON file as a whole. Raises WriteError."""
    with replacing(path) as out:
        out.write(orjson.dumps(value, option=orjson.OPT_INDENT_2) + b"\n")


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` when it is whole, or never. Raises WriteError."""
    try:
        with write_atomically(path) as out:
            yield out
    except OSError as error:
        raise write_error(path, error) from error


def write_error(path: Path, error: OSError) -> WriteError:
    """The error for writing that stopped."""
    return WriteError(
        f"writing {path} failed: {error.strerror or error}. What was finished before is intact in "
        f"{path.parent}. Make room or choose another --out, then run again."
    )


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
            self._file = open_no_follow(path, "r+b" if size else "xb", 0, replace=not size)
            self._file.truncate(size)
            self._file.seek(size)
        except OSError as error:
            raise write_error(path, error) from error
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
            raise write_error(self.path, error) from error
        finally:
            if not done:  # Ctrl-C in the middle of a piece, too
                self._file.truncate(self.size)
                self._file.seek(self.size)


def unusable(path: Path, error: OSError) -> OutputError:
    """The error for an output folder that the system refuses."""
    return OutputError(
        f"cannot use {path} as output folder: {error.strerror or error}; choose another --out"
    )


def check_ours_inside(path: Path, wanted: bool, ours: bool, what: str, option: str) -> None:
    """OutputError for a folder that is not empty, unless it holds a `what` and may (`wanted`)."""
    if not wanted:
        raise OutputError(
            f"{path} exists and is not empty; choose another --out, or pass --overwrite to replace "
            f"the {what} in it"
        )
    if not ours:
        raise OutputError(
            f"{path} holds files but no {what}, so {option} leaves it alone; choose another --out"
        )


def check_out_file(path: Path, example: str, option: str = "--out", overwrite: bool = True) -> None:
    """Check that a file may be written there. `example` is a name that could be meant.

    OutputError: a folder, a device or pipe, a folder above that is missing or may not be written;
    a file that is there already, where it may not be overwritten.
    """
    if path.is_dir():
        raise OutputError(
            f"{path} is a folder; {option} must name a file, such as {path / example}"
        )
    if path.exists() and not path.is_file():
        raise OutputError(f"{path} is no regular file; {option} must name one, such as {example}")
    if not path.parent.is_dir():
        raise OutputError(f"the folder {path.parent} does not exist; make it, or choose another")
    if not os.access(path.parent, os.W_OK):
        raise OutputError(f"{path.parent} is not writable; choose another {option}")
    if path.exists() and not overwrite:
        raise OutputError(
            f"{path} exists; choose another {option}, or pass --overwrite to replace it"
        )


def check_page_file(path: Path, mark: str, overwrite: bool, option: str = "--out") -> None:
    """Check that a page may be written there. A file is replaced only where it is such a page.

    `mark` is what the page is, as trueground-KIND-NUMBER; it stands in the page's head as
    <meta name="generator" content="MARK">. `overwrite` says whether a page of ours may be replaced.
    UsageError: the name does not end in .html. OutputError: see `check_out_file`; others' file, or
    a page of ours that is to stay.
    """
    kind = mark.split("-")[1]
    if path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"{option} {path}: the page is an HTML file; name it FILE.html")
    meta = f'<meta name="generator" content="{mark}">'
    _check_replaceable(path, meta, kind, "page", option, overwrite)


def _check_replaceable(
    path: Path, mark: str, kind: str, what: str, option: str, overwrite: bool
) -> None:
    check_out_file(path, f"{kind}.{'html' if what == 'page' else 'json'}", option)
    check_ours(path, mark, f"{kind} {what} of ours", option)
    check_out_file(path, kind, option, overwrite)


def find_outputs(
    path: Path, mark: str, *, overwrite: bool = True, numbers: str | None = None
) -> tuple[Path | None, Path | None]:
    """The page and the file of numbers that --out names, checked before any work is done.

    FILE.html is the page alone, FILE.json the numbers alone, a folder (which may be still to make)
    has both as KIND.html and KIND.json. `mark` is that of the page, see `check_page_file`;
    `numbers` stands in the beginning of the numbers' file, and without it there is none. Makes
    nothing. UsageError: a file of another kind. OutputError: see `check_page_file`.
    """
    kind, suffix = mark.split("-")[1], path.suffix.lower()
    is_page = suffix in (".html", ".htm")
    page, file = path if is_page else None, path if suffix == ".json" and numbers else None
    if path.is_dir() or not (page or file or path.exists() or OTHER_FILE.fullmatch(suffix)):
        page, file = path / f"{kind}.html", path / f"{kind}.json" if numbers else None
        if not path.is_dir():
            check_out_file(path, kind)  # that the folder can be made
            return page, file
    elif not page and not file:
        check_out_file(path, f"{kind}.html")  # no device, no pipe
        what = f"{suffix} is no kind of file that is written" if suffix else "this is a file"
        kinds = "a folder, FILE.json or FILE.html" if numbers else "a folder or FILE.html"
        raise UsageError(f"--out {path}: {what}; name {kinds}")
    if page:
        check_page_file(page, mark, overwrite)
    if file and numbers:
        _check_replaceable(file, numbers, kind, "file", "--out", overwrite)
    return page, file


def make_folder(path: Path) -> None:
    """Make the folder of a file that is about to be written. Raises WriteError."""
    try:
        path.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise write_error(path, error) from error


def check_ours(path: Path, mark: str, what: str, option: str = "--out") -> None:
    """Check that a file that is there is `what`: its beginning has the mark. Raises OutputError."""
    try:
        with path.open("rb") as file:
            ours = mark.encode() in file.read(_BEGINNING)
    except FileNotFoundError:
        return
    except OSError as error:
        raise OutputError(
            f"{path} cannot be read ({error.strerror}); choose another {option}"
        ) from None
    if not ours:
        raise OutputError(f"{path} exists and is no {what}, so it stays; choose another {option}")
