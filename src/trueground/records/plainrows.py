"""Rows of data files that are no records: every format of the readers, each row with its place."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from trueground.errors import InputError
from trueground.records.jsontext import decode_row
from trueground.records.parts import KINDS, PACKINGS, Part, file_part
from trueground.records.problems import Problem
from trueground.records.spool import Spool

# out(link): whether a link that leads out of a folder is followed.
Out = Callable[[Path], bool]


def _files_only(link: Path) -> bool:
    return not link.is_dir()


def refuse_link(link: Path) -> bool:
    """Follow no link that leads out of the folder. InputError for one to data or to a folder."""
    if not (link.is_dir() or _is_data(link)):
        return False
    raise InputError(
        f"{link} is a link that leads out of the folder; put a copy of {os.path.realpath(link)} in "
        "its place, or name that itself"
    )


def data_files(path: Path, out: Out = _files_only) -> list[Path]:
    """The file itself, or all data files in a folder and below it, in name order.

    Hidden files and folders are left out, links as `files_below` says. InputError: no such path, a
    pipe (they are read more than once), a folder that cannot be read, no data file in it.
    """
    try:
        kind = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{path} does not exist; name a data file or a folder of them") from None
    except OSError as error:
        raise _unreadable(path, error) from error
    if stat.S_ISREG(kind):
        return [path]
    if not stat.S_ISDIR(kind):
        what = "a pipe" if stat.S_ISFIFO(kind) else "no regular file"
        raise InputError(
            f"{path} is {what}; data are read more than once: save them to a file, and name that"
        )
    found = sorted(file for file in files_below(path, out) if _is_data(file))
    if not found:
        raise InputError(f"{path} holds no data file; expected names that end in {_endings()}")
    return found


def plain_rows(path: Path) -> Generator[tuple[str, dict[str, Any]], None, None]:
    """(place such as `a.jsonl, line 3`, row) of a file, or of all data files of a folder.

    JSON lines, a JSON array, CSV or Parquet, also packed. Empty cells are left out. InputError: a
    file or a row that cannot be read.
    """
    for file in data_files(path):
        spool = Spool()
        try:
            part = file_part(str(file), spool, {}, None)
            with closing(part.rows()) as rows:
                for number, value in rows:
                    place = f"{part.name}, {part.unit} {number}"
                    yield place, _row(part, place, value)
        finally:
            spool.close()


def _row(part: Part, place: str, value: Any) -> dict[str, Any]:
    try:
        if isinstance(value, Problem):
            raise value
        row = decode_row(value, "one JSON object") if isinstance(value, bytes) else value
        row = part.tidy(row) if part.tidy else row
        return part.cells(row) if part.cells else row
    except Problem as problem:
        field = f", field {problem.field!r}" if problem.field else ""
        raise InputError(
            f"{place}{field}: found {problem.found}; expected {problem.expected}"
        ) from None


def files_below(folder: Path, out: Out) -> Iterator[Path]:
    """All files in a folder and below it that are not hidden; each folder is read once.

    `out` is asked about each link that leads out of the folder. Links to folders within it are not
    followed: what is there has names of its own. InputError.
    """

    def refuse(error: OSError) -> None:
        raise _unreadable(error.filename, error) from error

    root, seen = Path(os.path.realpath(folder)), set[str]()
    for place, folders, names in os.walk(folder, onerror=refuse, followlinks=True):
        # In this order, so that it is always the same way that leads to what two ways lead to.
        folders[:], known = sorted(_shown(folders)), os.path.realpath(place) in seen
        if known:
            folders.clear()
            continue
        seen.add(os.path.realpath(place))
        for name in tuple(folders):
            link = Path(place, name)
            if link.is_symlink() and not (leads_out(link, root) and out(link)):
                folders.remove(name)
        for file in (Path(place, name) for name in _shown(names)):
            if not file.is_symlink() or not leads_out(file, root) or out(file):
                yield file


def _shown(names: list[str]) -> list[str]:
    return [name for name in names if not name.startswith(".")]


def leads_out(link: Path, root: Path) -> bool:
    """Whether what it leads to lies elsewhere than below `root`, which is no link itself."""
    return not Path(os.path.realpath(link)).is_relative_to(root)


def _unreadable(path: Path | str, error: OSError) -> InputError:
    return InputError(
        f"{path} cannot be read: {error.strerror or error}; fix that, or name another path"
    )


def _is_data(file: Path) -> bool:
    if not file.is_file():
        return False
    bare = file.with_suffix("") if file.suffix.lower() in PACKINGS else file
    return bare.suffix.lower() in KINDS


def _endings() -> str:
    return f"{', '.join(KINDS)}, each also with {' or '.join(PACKINGS)}"
