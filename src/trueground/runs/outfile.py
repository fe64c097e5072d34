"""Single files that a command writes: seen before any work is done, and never another's file."""

from __future__ import annotations

import os
from pathlib import Path

from trueground.errors import OutputError, UsageError

_BEGINNING = 4_096  # bytes in which a file of ours says what it is


def check_out_file(path: Path, example: str, option: str = "--out") -> None:
    """See that a file may be written there. `example` is a name that could be meant.

    OutputError: a folder, a device or pipe, a folder above that is missing or may not be written.
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


def check_page_file(path: Path, mark: str, overwrite: bool, option: str = "--out") -> None:
    """See that a page may be written there. What is there is replaced only where it is such a page.

    `mark` is what the page is, as trueground-KIND-NUMBER; it stands in the page's head as
    <meta name="generator" content="MARK">. `overwrite` says whether a page of ours may be replaced.
    UsageError: the name does not end in .html. OutputError: see `check_out_file`; others' file, or
    a page of ours that is to stay.
    """
    kind = mark.split("-")[1]
    if path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"{option} {path}: the page is an HTML file; name it FILE.html")
    check_out_file(path, f"{kind}.html", option)
    check_ours(path, f'<meta name="generator" content="{mark}">', f"{kind} page of ours", option)
    if path.exists() and not overwrite:
        raise OutputError(
            f"{path} exists; choose another {option}, or pass --overwrite to replace it"
        )


def check_ours(path: Path, mark: str, what: str, option: str = "--out") -> None:
    """See that a file that is there is `what`: its beginning has the mark. Raises OutputError."""
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
