"""A path that a user names for output: checked before any work is done, then written as a whole.

Whatever is to be written is checked first, and another's file is never replaced.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import orjson

from trueground.errors import OutputError, UsageError, WriteError
from trueground.files.writing import make_folder, open_no_follow, part_of, write_atomically

_FILE_ENDING = re.compile(r"\.[a-z][a-z0-9]{1,6}")  # v1.2 and run.7 may be folders
_BEGINNING_BYTES = 4_096  # in which a file of ours says what it is
_PAGE_ENDINGS = (".html", ".htm")
MAX_NAME_CHARS = 60


class OutputFiles(NamedTuple):
    """The page and the file of numbers that a path names; None for one that isn't written."""

    page: Path | None
    numbers: Path | None


class OutputPath:
    """A file, or a folder, that a command writes.

    Attributes:
        path: The path.
        option: The option that named it, for error messages.
    """

    def __init__(self, path: Path, option: str = "--out") -> None:
        self.path = path
        self.option = option

    @staticmethod
    def safe_name(name: str) -> str:
        """Return the characters of `name` that every file system takes, at most 60 of them."""
        safe = "".join(c if c.isalnum() or c in "-_." else "-" for c in name).strip("-.")
        return safe[:MAX_NAME_CHARS] or "score"

    @property
    def has_file_ending(self) -> bool:
        """Whether the name ends like that of a file, such as `.txt`."""
        return _FILE_ENDING.fullmatch(self.path.suffix.lower()) is not None

    # Checks before any work is done

    def check_file(self, example: str, *, overwrite: bool = True) -> None:
        """Check that a file may be written there.

        Args:
            example: A name that could be meant.
            overwrite: Whether a file that exists may be replaced.

        Raises:
            OutputError: The path is a folder, a device or a pipe. Its folder is missing or not
                writable. Or the file exists and may not be replaced.
        """
        path, option = self.path, self.option
        if path.is_dir():
            raise OutputError(
                f"{path} is a folder; {option} must name a file, such as {path / example}"
            )
        if path.exists() and not path.is_file():
            raise OutputError(
                f"{path} is no regular file; {option} must name one, such as {example}"
            )
        if not path.parent.is_dir():
            raise OutputError(
                f"the folder {path.parent} does not exist; make it, or choose another"
            )
        if not os.access(path.parent, os.W_OK):
            raise OutputError(f"{path.parent} is not writable; choose another {option}")
        if path.exists() and not overwrite:
            raise OutputError(
                f"{path} exists; choose another {option}, or pass --overwrite to replace it"
            )

    def check_mark(self, mark: str, kind: str) -> None:
        """Check that the file, if it exists, has the mark in its beginning.

        Args:
            mark: The mark.
            kind: What a file with this mark is called in the error.

        Raises:
            OutputError: The file has no such mark, or can't be read.
        """
        path, option = self.path, self.option
        try:
            with path.open("rb") as file:
                is_ours = mark.encode() in file.read(_BEGINNING_BYTES)
        except FileNotFoundError:
            return
        except OSError as error:
            raise OutputError(
                f"{path} cannot be read ({error.strerror}); choose another {option}"
            ) from None
        if not is_ours:
            raise OutputError(
                f"{path} exists and is no {kind}, so it stays; choose another {option}"
            )

    def check_page(self, mark: str, *, overwrite: bool) -> None:
        """Check that a page may be written there. Only a page with the same mark is replaced.

        Args:
            mark: What the page is, as trueground-KIND-NUMBER. It is in the page's head as
                `<meta name="generator" content="MARK">`.
            overwrite: Whether a page with this mark may be replaced.

        Raises:
            UsageError: The name doesn't end in .html.
            OutputError: The page may not be written there.
        """
        if self.path.suffix.lower() not in _PAGE_ENDINGS:
            raise UsageError(
                f"{self.option} {self.path}: the page is an HTML file; name it FILE.html"
            )
        kind = _kind_of(mark)
        meta = f'<meta name="generator" content="{mark}">'
        self.check_file(f"{kind}.html")
        self.check_mark(meta, f"{kind} page of ours")
        self.check_file(kind, overwrite=overwrite)

    def find_files(
        self, mark: str, *, overwrite: bool = True, numbers: str | None = None
    ) -> OutputFiles:
        """Return the page and the file of numbers that the path names. Makes nothing.

        FILE.html is the page alone, FILE.json the numbers alone. A folder, which needn't exist,
        has both as KIND.html and KIND.json.

        Args:
            mark: The mark of the page, see `check_page`.
            overwrite: Whether files with these marks may be replaced.
            numbers: The mark of the file of numbers; without it there is none.

        Raises:
            UsageError: The path names a file of another kind.
            OutputError: A file may not be written there.
        """
        path, kind, suffix = self.path, _kind_of(mark), self.path.suffix.lower()
        page = path if suffix in _PAGE_ENDINGS else None
        file = path if suffix == ".json" and numbers else None
        if path.is_dir() or not (page or file or path.exists() or self.has_file_ending):
            page, file = path / f"{kind}.html", path / f"{kind}.json" if numbers else None
            if not path.is_dir():
                self.check_file(kind)  # that the folder can be made
                return OutputFiles(page, file)
        elif not page and not file:
            self.check_file(f"{kind}.html")  # no device, no pipe
            what = f"{suffix} is no kind of file that is written" if suffix else "this is a file"
            kinds = "a folder, FILE.json or FILE.html" if numbers else "a folder or FILE.html"
            raise UsageError(f"--out {path}: {what}; name {kinds}")
        if page:
            OutputPath(page).check_page(mark, overwrite=overwrite)
        if file and numbers:
            output = OutputPath(file)
            output.check_file(f"{kind}.json")
            output.check_mark(numbers, f"{kind} file of ours")
            output.check_file(kind, overwrite=overwrite)
        return OutputFiles(page, file)

    def find_page(self, mark: str) -> Path:
        """Return the page that the path names, a file or one in a folder. Makes nothing.

        Raises:
            UsageError: The path is neither that of a folder nor ends in .html.
            OutputError: A page may not be written there.
        """
        page = self.find_files(mark).page
        assert page is not None  # without numbers, each path names a page
        return page

    # Writing

    @property
    def part(self) -> Path:
        """The file while it is unfinished; a kill leaves it there."""
        return part_of(self.path)

    def open_no_follow(self, mode: str, buffering: int = -1, *, replace: bool = False) -> BinaryIO:
        """Open the file for writing.

        Args:
            mode: A binary mode as for `open`.
            buffering: As for `open`.
            replace: Remove the file or link that is there first.

        Raises:
            OSError: The file can't be opened, or it is a link.
        """
        return open_no_follow(self.path, mode, buffering, replace=replace)

    def write_atomically(self) -> AbstractContextManager[BinaryIO]:
        """As `replacing`, but a failure is an OSError, for callers that go on without the file."""
        return write_atomically(self.path)

    def make_directory(self) -> Path:
        """Make the path a folder if it isn't one, and return it. OSError, also if it is a link."""
        return make_folder(self.path)

    def make_parent(self) -> None:
        """Make the folder of the file, whose own folder exists. Raises WriteError."""
        try:
            self.path.parent.mkdir(exist_ok=True)
        except OSError as error:
            raise WriteError.stopped(self.path, error) from error

    @contextmanager
    def replacing(self) -> Iterator[BinaryIO]:
        """Open a file that takes the place of this one when it is complete, or never.

        Raises:
            WriteError: Writing failed.
        """
        try:
            with write_atomically(self.path) as out:
                yield out
        except OSError as error:
            raise WriteError.stopped(self.path, error) from error

    def write_json(self, value: Any) -> None:
        """Replace a JSON file as a whole. Raises WriteError."""
        with self.replacing() as out:
            out.write(orjson.dumps(value, option=orjson.OPT_INDENT_2) + b"\n")


def _kind_of(mark: str) -> str:
    """Return the kind in a mark like trueground-KIND-NUMBER."""
    return mark.split("-")[1]
