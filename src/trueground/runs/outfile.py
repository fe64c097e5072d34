"""Single files that a command writes: seen before any work is done, and never another's file."""

from __future__ import annotations

import os
from pathlib import Path

from trueground.errors import OutputError

_BEGINNING = 4_096  # bytes in which a file of ours says what it is


def see_out_file(path: Path, example: str) -> None:
    """See that a file may be written there. `example` is a name that could be meant.

    OutputError: a folder, a device or pipe, a folder above that is missing or may not be written.
    """
    if path.is_dir():
        raise OutputError(f"{path} is a folder; --out must name a file, such as {path / example}")
    if path.exists() and not path.is_file():
        raise OutputError(f"{path} is no regular file; --out must name one, such as {example}")
    if not path.parent.is_dir():
        raise OutputError(f"the folder {path.parent} does not exist; make it, or choose another")
    if not os.access(path.parent, os.W_OK):
        raise OutputError(f"{path.parent} is not writable; choose another --out")


def see_ours(path: Path, mark: str, what: str) -> None:
    """See that a file that is there is `what`: its beginning has the mark. Raises OutputError."""
    try:
        with path.open("rb") as file:
            ours = mark.encode() in file.read(_BEGINNING)
    except FileNotFoundError:
        return
    except OSError as error:
        raise OutputError(
            f"{path} cannot be read ({error.strerror}); choose another --out"
        ) from None
    if not ours:
        raise OutputError(f"{path} exists and is no {what}, so it stays; choose another --out")
