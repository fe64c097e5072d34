"""The paths of users' data files, and of folders of them: what is there, and its rows."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from trueground.errors import InputError
from trueground.records.files import (
    KINDS,
    PACKINGS,
    DataStream,
    LocalCopies,
    inner_ending,
    open_unpacked,
    require_readable,
)
from trueground.records.inputs import file_input
from trueground.records.problems import Problem

# Whether a link that leads out of a folder is followed.
FollowLink = Callable[[Path], bool]


@dataclass(frozen=True)
class DataPath:
    """The path of a data file, or of a folder of data files.

    A data file has JSON lines, a JSON array, CSV, TSV or Parquet, and may be packed.

    Attributes:
        path: The path.
        name: What messages call it; by default the path.
    """

    path: Path
    name: str = ""
    ENDINGS: ClassVar[tuple[str, ...]] = tuple(KINDS)
    PACKINGS: ClassVar[tuple[str, ...]] = PACKINGS

    @property
    def ending(self) -> str:
        """The ending of what the file holds, in small letters: ".tsv" of "a.tsv.gz" and "a.TSV"."""
        return inner_ending(self.path)

    @property
    def is_data(self) -> bool:
        """Whether the name ends as those of data files do."""
        return self.ending in KINDS

    def open(self, packing: str | None = None) -> AbstractContextManager[DataStream]:
        """Open the file as bytes, unpacked and without a UTF-8 mark.

        Args:
            packing: ".gz", ".bz2", ".zst", or "" if it isn't packed; by default what the name says.

        Raises:
            InputError: Whatever goes wrong while opening or reading. Also a line beyond the largest
                row, unless a limit is given to `readline`.
        """
        return open_unpacked(self.path, packing, self.name or None)

    def require_readable(self) -> None:
        """Raise InputError unless the file exists, isn't a folder or empty, and may be read."""
        require_readable(self.path, self.name or str(self.path))

    def unreadable(self, error: OSError) -> InputError:
        """Return the error for a path that can't be read."""
        return _unreadable(self.path, error)

    def files(self, follow: FollowLink = lambda link: not link.is_dir()) -> list[Path]:
        """Return the file itself, or all data files in the folder and below it, in name order.

        Hidden files and folders are left out, links as `walk` says.

        Raises:
            InputError: No such path, a pipe (data are read more than once), a folder that can't be
                read, no data file in it.
        """
        path = self.path
        try:
            kind = path.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            raise InputError(
                f"{path} does not exist; name a data file or a folder of them"
            ) from None
        except OSError as error:
            raise self.unreadable(error) from error
        if stat.S_ISREG(kind):
            return [path]
        if not stat.S_ISDIR(kind):
            what = "a pipe" if stat.S_ISFIFO(kind) else "no regular file"
            raise InputError(
                f"{path} is {what}; data are read more than once: save them to a file, and name "
                "that"
            )
        files = sorted(f for f in self.walk(follow) if f.is_file() and inner_ending(f) in KINDS)
        if not files:
            raise InputError(
                f"{path} holds no data file; expected names that end in {', '.join(KINDS)}, each "
                f"also with {' or '.join(PACKINGS)}"
            )
        return files

    def walk(self, follow: FollowLink) -> Iterator[Path]:
        """Yield all files in the folder and below it that aren't hidden; each folder once.

        Args:
            follow: Decides on each link that leads out of the folder. Links to folders within it
                are not followed: what is there has names of its own.

        Raises:
            InputError: A folder can't be read.
        """

        def refuse(error: OSError) -> None:
            raise _unreadable(error.filename, error) from error

        root, seen = Path(os.path.realpath(self.path)), set[str]()
        for place, folders, names in os.walk(self.path, onerror=refuse, followlinks=True):
            here = os.path.realpath(place)
            # Sorted, so that it is always the same way that leads to what two ways lead to.
            folders[:] = [] if here in seen else sorted(n for n in folders if not n.startswith("."))
            if here in seen:
                continue
            seen.add(here)
            for name in tuple(folders):
                link = Path(place, name)
                if link.is_symlink() and not (_leads_out(link, root) and follow(link)):
                    folders.remove(name)
            for file in (Path(place, name) for name in names if not name.startswith(".")):
                if not file.is_symlink() or not _leads_out(file, root) or follow(file):
                    yield file

    def rows(
        self, *, text_field: str | None = None
    ) -> Generator[tuple[str, dict[str, Any]], None, None]:
        """Yield place and row of the file, or of all data files of the folder.

        Empty cells are left out.

        Args:
            text_field: If given, a .txt file has one row per line that isn't blank, with the line
                under this name.

        Yields:
            A place such as `a.jsonl, line 3`, and the row.

        Raises:
            InputError: A file or a row can't be read.
        """
        if text_field is not None and self.ending == ".txt":
            for place, line in self._text_lines():
                yield place, {text_field: line}
            return
        for file in self.files():
            with closing(DataPath(file).numbered_rows("one JSON object")) as rows:
                for place, _, row in rows:
                    if isinstance(row, Problem):
                        raise InputError(row.message(place))
                    yield place, row

    def numbered_rows(
        self, expected: str
    ) -> Generator[tuple[str, int, dict[str, Any] | Problem], None, None]:
        """Yield place, number, and row of the file or what is wrong with it.

        Args:
            expected: What a row is, for the problems of those that are none.

        Raises:
            InputError: The file can't be read.
        """
        copies = LocalCopies()
        try:
            source = file_input(str(self.path), copies)
            with closing(source.rows()) as rows:
                for number, value in rows:
                    row: dict[str, Any] | Problem
                    try:
                        row = source.decode_cells(source.read(value, expected))
                    except Problem as problem:
                        row = problem
                    yield source.place(number), number, row
        finally:
            copies.close()

    def _text_lines(self) -> Iterator[tuple[str, str]]:
        """(place, line) of a file of UTF-8 text; blank lines are left out. InputError."""
        self.require_readable()
        with self.open() as stream:
            for number, line in enumerate(stream, 1):
                place = f"{self.path}, line {number}"
                try:
                    text = line.decode().strip()
                except UnicodeDecodeError as error:
                    raise InputError(f"{place}: {error}; save it as UTF-8 text") from error
                if text:
                    yield place, text


def _leads_out(link: Path, root: Path) -> bool:
    """Whether what it leads to lies elsewhere than below `root`, which is no link itself."""
    return not Path(os.path.realpath(link)).is_relative_to(root)


def _unreadable(path: Path | str, error: OSError) -> InputError:
    return InputError(
        f"{path} cannot be read: {error.strerror or error}; fix that, or name another path"
    )
