"""Files as byte streams, unpacked on the way; whatever goes wrong is a GraphError."""

from __future__ import annotations

import bz2
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from trueground.errors import GraphError, InputError
from trueground.records.files import open_unpacked, require_readable

PACKINGS = (".gz", ".bz2", ".zst")
LONGEST_LINE = 1 << 28
_MAGIC = ((b"\x1f\x8b", ".gz"), (b"BZh", ".bz2"), (b"\x28\xb5\x2f\xfd", ".zst"))
_CHUNK = 1 << 18
_BOM = b"\xef\xbb\xbf"


@contextmanager
def reading(path: Path) -> Iterator[io.BufferedReader]:
    """The bytes of a file, unpacked if it begins as gzip, bzip2 or Zstandard files do.

    What an archive begins with is trusted, not its name. GraphError: no such file, a folder, a
    pipe, nothing in it, an archive that is damaged or cut off, UTF-16.
    """
    try:
        require_file(path)
        require_readable(path, str(path))
        packing = _packing(path)
        if packing == ".bz2":
            with _bzip2(path) as stream:
                yield stream
        else:
            with open_unpacked(path, packing) as stream:
                yield stream
    except InputError as error:
        said = str(error)
        end = "" if said.endswith(("?", ".")) else "."
        raise GraphError(f"{said}{end} Get the file again, or name another one.") from error


def require_file(path: Path) -> None:
    """GraphError where there is a pipe or a device: files are read more than once, to their end."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise GraphError(
            f"{path} is no regular file; expected a file of triples or graphs. Write what comes "
            "from there into a file first"
        )


def lines(stream: io.BufferedReader, name: str) -> Iterator[bytes]:
    """All lines with their ends. GraphError: one so long that a line end must be missing."""
    while line := stream.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise GraphError(
                f"{name}: found a line of more than {LONGEST_LINE >> 20} MiB; expected one triple "
                "or entity on each line. Name the right format with --format."
            )
        yield line


def bare_name(path: Path) -> str:
    """The file's name in lower case without the ending of a packing."""
    name = path.name.lower()
    return next((name.removesuffix(p) for p in PACKINGS if name.endswith(p)), name)


def _packing(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            start = stream.read(4)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    return next((packing for magic, packing in _MAGIC if start.startswith(magic)), "")


@contextmanager
def _bzip2(path: Path) -> Iterator[io.BufferedReader]:
    try:
        with bz2.open(path) as packed:
            stream: io.BufferedReader = io.BufferedReader(cast(Any, packed), _CHUNK)
            if stream.peek(3)[:3] == _BOM:
                stream.read(3)
            yield stream
    except EOFError as error:
        raise InputError(f"{path} is cut off: the compressed data ends too early") from error
    except OSError as error:
        raise InputError(f"{path} is not a sound bzip2 archive: {error}") from error
