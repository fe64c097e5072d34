"""Rows of users' data files in any format, and the reasons why some can't be used."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal, NamedTuple

from trueground.errors import InputError
from trueground.records import DataPath, Problem, shorten
from trueground.text import several
from trueground.wings.papers.builders.base import Rejected

# Control characters except tab, line feed, form feed, carriage return and next line (0x85), and the
# replacement character.
CONTROL_CHARACTER = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f\ufffd]")
_WORD = re.compile(r"[^\W_]")
# The readers' messages about content that isn't text begin like this.
_BINARY = ("a NUL ", "invalid UTF-8", "a lone surrogate")
ErrorKind = Literal["binary", "blank", "unreadable"]
MAX_LISTED_ROWS = 50
MAX_ROW_MESSAGE_CHARS = 400


class UnusableRow(NamedTuple):
    """A row that can't be used: it isn't text, is empty, or is invalid.

    Attributes:
        kind: What is wrong.
        message: A whole sentence with the location, what was found and what was expected.
        id: The id of the row, if it is known.
    """

    kind: ErrorKind
    message: str
    id: str | None


class SourceRow(NamedTuple):
    """A row of a file.

    Attributes:
        location: The location for users, such as `a.jsonl, line 3`.
        file: The file.
        number: The number of the row in the file.
        value: The content.
    """

    location: str
    file: Path
    number: int
    value: dict[str, Any] | UnusableRow


class TextError(NamedTuple):
    """The reason why a text can't be used, with what was found."""

    kind: ErrorKind
    found: str


def source_files(paths: Sequence[Path]) -> list[Path]:
    """Return all data files without repetitions.

    Raises:
        InputError: A path doesn't exist, or a folder has no data files.
    """
    files: dict[Path, None] = {}
    for path in paths:
        files |= dict.fromkeys(DataPath(path).files())
    return list(files)


def source_rows(files: Sequence[Path], expected: str = "one JSON object") -> Iterator[SourceRow]:
    """Yield the rows of all files in their order.

    Args:
        files: The files.
        expected: What a row should be, for error messages.

    Raises:
        InputError: A file is unreadable.
    """
    for file in files:
        with closing(DataPath(file).numbered_rows(expected)) as rows:
            for location, number, row in rows:
                yield SourceRow(location, file, number, _check_row(location, row, expected))


def check_rows(
    files: Sequence[Path],
    rows: Sequence[Any],
    error_reasons: Container[str],
    expected: str,
    noun: str = "row",
) -> None:
    """Check that no row has an error and that at least one row can be used.

    Args:
        files: The files, for error messages.
        rows: The items of the rows, or Rejected for a row that isn't used.
        error_reasons: The reasons of rejected rows that are errors.
        expected: What a usable row should be, for error messages.
        noun: What a row is called in error messages.

    Raises:
        InputError: A row has an error, or no row can be used.
    """
    rejected = [row for row in rows if isinstance(row, Rejected)]
    errors = [row.detail for row in rejected if row.reason in error_reasons]
    if errors:
        lines = [shorten(error, MAX_ROW_MESSAGE_CHARS) for error in errors[:MAX_LISTED_ROWS]]
        if len(errors) > MAX_LISTED_ROWS:
            lines.append(f"… and {len(errors) - MAX_LISTED_ROWS:,} more")
        listed = "\n".join(lines)
        raise InputError(
            f"found {several(len(errors), 'invalid row')}; fix the file, or leave such rows out "
            f"with --on-bad-row skip:\n{listed}"
        )
    if len(rejected) == len(rows):
        counts = Counter(row.reason for row in rejected).most_common()
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in counts)
        first = f" ({reasons}; the first: {rejected[0].detail})" if rejected else ""
        raise InputError(
            f"{', '.join(map(str, files))}: found no {noun} that can be used{first}; expected "
            f"{expected}"
        )


def check_text(text: str) -> TextError | None:
    """Return why a text can't be used; None if it can.

    "blank" is a text without a letter or digit.
    """
    control = CONTROL_CHARACTER.search(text)
    if control is not None:
        name = "broken letter" if control[0] == "\ufffd" else "control character"
        code = f"U+{ord(control[0]):04X}"
        return TextError("binary", f"the {name} {code} at character {control.start() + 1}")
    return None if _WORD.search(text) else TextError("blank", "no letter or digit")


def _check_row(
    location: str, row: dict[str, Any] | Problem, expected: str
) -> dict[str, Any] | UnusableRow:
    if isinstance(row, Problem):
        kind: ErrorKind = "binary" if row.found.startswith(_BINARY) else "unreadable"
        return UnusableRow(kind, row.message(location), row.row_id)
    if all(map(_is_blank, row.values())):
        message = f"{location}: found nothing in the row; expected {expected}"
        return UnusableRow("blank", message, None)
    return row


def _is_blank(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())
