"""All documents of the user's paths: rows of data files, or files that are a document each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from trueground.builders.grounding.documents.document import Raw
from trueground.builders.grounding.documents.files import read_file
from trueground.builders.grounding.documents.rows import read_rows
from trueground.builders.rejected import Rejected
from trueground.records.files import KINDS, data_files, inner_ending, leads_out
from trueground.retrieval.documents import ENDINGS

REASONS = {
    "unreadable": "the file or row cannot be read",
    "binary": "what should be text is something else",
    "other_kind": "it is of a kind that holds no documents",
    "enormous": "the file is larger than 100 MiB",
    "bad_field": "a field of the row has a wrong value",
}


def read_all(
    paths: Sequence[Path], apart: Path | None, note: Callable[[str], None]
) -> Iterator[Raw | Rejected]:
    """The documents of all paths in turn, and what cannot be read. InputError: no such path."""
    for path in paths:
        files, dropped = found_files(path, apart)
        prefix = f"{path.name}/" if len(paths) > 1 and path.is_dir() else ""
        root = path if path.is_dir() else path.parent
        for file in files:
            if file.suffix.lower() in ENDINGS:
                page = prefix + file.relative_to(root).as_posix()
                yield read_file(file, page, note)
            else:
                yield from read_rows(file)
        yield from (replace(one, id=prefix + one.id) for one in dropped)


def found_files(path: Path, apart: Path | None) -> tuple[list[Path], list[Rejected]]:
    """(the files of a path that are read, in name order; what stands beside them).

    In a folder with documents the data files are not read; `apart` is passed over in any folder.
    Links to files in the folder are read as those files; other links are named. Ids are paths below
    `path`.
    InputError: no such path, a pipe.
    """
    if not path.is_dir():
        return data_files(path), []
    dropped: list[Rejected] = []
    files = sorted(file for file in _below(path, dropped) if not _same(file, apart))
    documents = [file for file in files if file.suffix.lower() in ENDINGS and _is_file(file)]
    read = documents or [file for file in files if inner_ending(file) in KINDS and _is_file(file)]
    return read, dropped + [_other(file, path) for file in _without(files, read)]


def _without(files: Iterable[Path], read: Iterable[Path]) -> list[Path]:
    known = set(read)
    return [file for file in files if file not in known]


def _other(file: Path, root: Path) -> Rejected:
    found = f"{file}: expected a name that ends in {_KNOWN}"
    return Rejected("other_kind", found, id=_printable(file.relative_to(root)))


def _printable(path: Path) -> str:
    return path.as_posix().encode("utf-8", "backslashreplace").decode()


def _below(root: Path, dropped: list[Rejected]) -> Iterator[Path]:
    def leave(path: Path, reason: str, why: str) -> None:
        id_ = _printable(path.relative_to(root)) if path != root else path.name
        dropped.append(Rejected(reason, f"{_printable(path)}: {why}", id=id_))

    def refuse(error: OSError) -> None:
        leave(Path(error.filename), "unreadable", error.strerror or str(error))

    inside = Path(os.path.realpath(root))
    for place, folders, names in os.walk(root, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for folder in (Path(place, name) for name in folders):
            if folder.is_symlink():
                leave(folder, "other_kind", "a link to a folder; such links are not followed")
        for file in (Path(place, name) for name in names if not name.startswith(".")):
            if _printable(file) != file.as_posix():
                leave(file, "unreadable", "its name is not UTF-8")
            elif file.is_symlink() and leads_out(file, inside):
                leave(file, "other_kind", "a link out of the folder; name the file itself")
            else:
                yield file


def _same(file: Path, other: Path | None) -> bool:
    return other is not None and os.path.realpath(file) == os.path.realpath(other)


def _is_file(file: Path) -> bool:
    """Also true of one that must not be looked at: reading it says so."""
    try:
        return file.is_file()
    except OSError:
        return True


_KNOWN = f"{', '.join(ENDINGS)} (documents), or {', '.join(KINDS)} (rows)"
