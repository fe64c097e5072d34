"""Every error that trueground raises on purpose.

TruegroundError                exit code
├── UsageError                 2   an option, a name or a combination that cannot be meant
├── InputError                 2   a file or a row that cannot be read
│   └── BadRowsError           2   carries the list of BadRow
├── MissingExtraError          2   an optional dependency is not installed; prints the install line
├── OutputError                2   the output folder cannot be used (nothing was begun)
├── WriteError                 5   writing failed after work had begun (what was finished is kept)
├── WorkerError                5   a process that did the work is gone (what was finished is kept)
├── CoverageError              3   nothing could be scored or made, or less than a limit asks for
├── GraphError                 2   a knowledge graph that cannot be read or queried
├── UnreachableError           4   a model or judge that could not be reached at all
├── ProtocolError              2   a judge or another part from outside broke its promise
├── PluginError                2   what an installed package adds can't be loaded
└── RunInterrupted             130 Ctrl-C; what was finished is kept

Library code raises; only the command line exits. A message names the place, what was found, what
was expected and the next step. It names options as the command line does; see `wording`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Self

from trueground.errors.names import describe_unknown, suggest
from trueground.errors.wording import in_python, user_messages

if TYPE_CHECKING:
    from pathlib import Path


__all__ = [
    "BadRow",
    "BadRowsError",
    "CoverageError",
    "ExitCode",
    "GraphError",
    "InputError",
    "MissingExtraError",
    "OutputError",
    "ProtocolError",
    "RunInterrupted",
    "TruegroundError",
    "UnreachableError",
    "UsageError",
    "WorkerError",
    "WriteError",
    "fails_alone",
    "in_python",
    "user_messages",
]


class ExitCode(IntEnum):
    """Exit codes of the command line."""

    DONE = 0
    GATE_FAILED = 1
    REFUSED = 2
    NOT_COVERED = 3
    UNREACHABLE = 4
    INCOMPLETE = 5
    INTERRUPTED = 130


class TruegroundError(Exception):
    """Base class of all errors.

    `exit_code` is what the command line returns if the error ends a command.
    """

    exit_code: ClassVar[ExitCode] = ExitCode.REFUSED

    @property
    def is_refusal(self) -> bool:
        """Whether the work was refused before anything came of it."""
        return self.exit_code is ExitCode.REFUSED

    def __str__(self) -> str:
        """The message; of options it speaks as the caller knows them (see `UserMessages`)."""
        return user_messages.word(super().__str__())

    @staticmethod
    def suggest(name: str, known: Iterable[str]) -> str:
        """Return " Did you mean …?" with at most three names like this one; "" if none is."""
        return suggest(name, known)

    @staticmethod
    def missing_store_package(url: str, error: ImportError) -> TruegroundError:
        """Return the error for a URL whose store needs a package that isn't installed.

        Args:
            url: The URL without credentials.
            error: What importing the package raised.
        """
        if url.startswith(("s3://", "s3a://")):
            return MissingExtraError(url, "s3")
        return InputError(f"{url} needs a package that is not installed: {error}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Out of another process it comes back as it is, whatever its constructor takes."""
        return _restored, (type(self), self.args), vars(self)


def _restored(kind: type[TruegroundError], words: tuple[Any, ...]) -> TruegroundError:
    error = kind.__new__(kind)
    error.args = words
    return error


class UsageError(TruegroundError):
    """An invalid option, name or combination of options."""

    @classmethod
    def unknown_name(
        cls, kind: str, name: str, known: Iterable[str], others: Iterable[str] = ()
    ) -> Self:
        """Return the error for a name that doesn't exist, with similar names.

        Args:
            kind: What the name should be, such as "metric".
            name: The name.
            known: The names that exist. They are listed if they are few.
            others: Names that lead to a known one. They may be suggested and aren't listed.
        """
        return cls(describe_unknown(kind, name, known, others))


class InputError(TruegroundError):
    """A file, data frame or list that can't be read as records."""


@dataclass(frozen=True)
class BadRow:
    """A row that isn't a valid record.

    Attributes:
        file: Name of the input.
        row: Number of the row, from 1, counted in `unit`s.
        id: Id of the record. None if it has none.
        field: Field with the invalid value. None if the whole row is invalid.
        found: The value.
        expected: What was expected instead.
        unit: "line" for text files, otherwise "row".
    """

    file: str
    row: int
    id: str | None
    field: str | None
    found: str
    expected: str
    unit: str = "row"

    @property
    def kind(self) -> tuple[str, ...]:
        """A key that is equal for rows of a file with the same error."""
        field = re.sub(r"\d+", "", self.field or "")
        return self.file, field, self.expected.partition(";")[0]

    def __str__(self) -> str:
        where = f"{self.file}, {self.unit} {self.row}"
        if self.id is not None:
            where += f" (id {self.id!r})"
        if self.field is not None:
            where += f", field {self.field!r}"
        return f"{where}: found {self.found}; expected {self.expected}"


class BadRowsError(InputError):
    """Error for input with invalid rows.

    Args:
        rows: The first invalid rows.
        total: Number of all invalid rows.
        counts: Number of rows of each `BadRow.kind`.
        advice: Additional line of the message.
    """

    def __init__(
        self,
        rows: list[BadRow],
        total: int,
        counts: Mapping[tuple[str, ...], int] | None = None,
        advice: str = "",
    ) -> None:
        self.rows = rows
        self.total = total
        lines = _format_rows(rows, total, counts or {})
        if advice:
            lines.append(advice)
        noun = "row" if total == 1 else "rows"
        lines.append(
            f"Found {total} invalid {noun}, so nothing was scored. Fix the file, or pass "
            "--on-bad-row skip to score the rest."
        )
        super().__init__("\n".join(lines))


def _format_rows(
    rows: list[BadRow], total: int, counts: Mapping[tuple[str, ...], int]
) -> list[str]:
    """Return lines with at most ten rows, three per kind, and counts of the others."""
    kinds: dict[tuple[str, ...], list[BadRow]] = {}
    for row in rows:
        kinds.setdefault(row.kind, []).append(row)
    lines: list[str] = []
    shown = covered = 0
    for kind, members in kinds.items():
        if shown >= 10:
            break
        count = max(counts.get(kind, 0), len(members))
        lines += map(str, members[:3])
        shown, covered = shown + len(members[:3]), covered + count
        if count > 3:
            lines.append(f"… and {count - 3:,} more row{'s' if count > 4 else ''} like these")
    if total > covered:
        lines.append(f"… and {total - covered:,} more invalid rows")
    return lines


class MissingExtraError(TruegroundError):
    """A required optional dependency isn't installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f'{what} needs an optional package: pip install "trueground[{extra}]"')


class OutputError(TruegroundError):
    """The output folder can't be used. No work was started."""

    @classmethod
    def unusable(cls, path: Path, error: OSError) -> OutputError:
        """Return the error for an output folder that the system refuses."""
        return cls(
            f"cannot use {path} as output folder: {error.strerror or error}. Choose another --out"
        )


class WriteError(TruegroundError):
    """Writing failed during the work. Finished results are on disk."""

    exit_code = ExitCode.INCOMPLETE

    @classmethod
    def stopped(cls, path: Path, error: OSError) -> WriteError:
        """Return the error for a file that the system failed to write."""
        return cls(
            f"writing {path} failed: {error.strerror or error}. Finished results are intact in "
            f"{path.parent}. Free disk space or choose another --out, then run again."
        )


class WorkerError(TruegroundError):
    """A worker process couldn't start or was lost. Finished results are kept."""

    exit_code = ExitCode.INCOMPLETE


class CoverageError(TruegroundError):
    """Nothing could be scored or built, or less than the required share."""

    exit_code = ExitCode.NOT_COVERED


class GraphError(TruegroundError):
    """A knowledge graph that can't be opened, read or queried."""


class UnreachableError(TruegroundError):
    """The model or judge can't be reached or rejects the API key. No request succeeded."""

    exit_code = ExitCode.UNREACHABLE


class ProtocolError(TruegroundError):
    """A judge, decomposer or metric returned an invalid value."""


class PluginError(TruegroundError):
    """What an installed package adds, or a part of trueground itself, can't be loaded."""


class RunInterrupted(TruegroundError):  # noqa: N818 - it is a request, not a mistake
    """The user pressed Ctrl-C. Finished results are on disk."""

    exit_code = ExitCode.INTERRUPTED


def fails_alone(error: BaseException) -> bool:
    """Whether an exception concerns no more than what was being worked on, so that the rest can go
    on: not where it was raised on purpose, where it ends the work, or where memory is used up.

    Panics of native code are no `Exception`; the module that their class names cannot be imported.
    """
    from concurrent.futures import CancelledError

    kind = type(error)
    if isinstance(error, BaseExceptionGroup):
        return all(map(fails_alone, error.exceptions))
    # numpy has a kind of its own for a single array that is too large
    if isinstance(error, TruegroundError | CancelledError) or kind is MemoryError:
        return False
    return isinstance(error, Exception) or (
        kind.__module__ not in sys.modules or "Panic" in kind.__name__
    )
