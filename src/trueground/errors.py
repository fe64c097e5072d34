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
was expected and the next step. It names options as the command line does; where no command runs, it
is shown with the parameters of the functions instead (`spoken`); `tests/test_wording.py` holds the
tables to their signatures.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import IntEnum
from typing import Any, ClassVar

_LISTED = (
    "metric",
    "judge",
    "decomposer",
    "normalizer",
    "benchmark",
    "retriever",
    "model",
    "builder",
)
_FEW = 10  # so many names are all named
_NEAR = 0.6  # from 0 to 1: how like a name is that is suggested
_SHORT, _NEAR_OF_SHORT = 3, 0.5  # of so few letters one wrong one is much
_WORD, _OTHER = 0.8, 0.9  # what it counts that one word is like, or a name that leads to another
_SUGGESTED = 3
_quiet = False
# Options that are not called like their parameters; then those that are on or off.
_PARAMETERS = {
    "no-cache": "cache=False",
    "no-records": "keep_records=False",
    "poll": "poll_seconds",
    "map": "mapping",
    "param": "extra",
    "prompt": "prompts",
}
_SWITCHES = frozenset(
    (
        *("allow-mismatch", "batch", "ordinal", "overwrite", "pairs", "retry-failed"),
        *("reuse-bad", "trust-remote-code", "with-published"),
    )
)
# An option, with its value where that is told from the words behind it; not within a command.
_OPTION = re.compile(
    r"(?P<command>`[^`]*`|\btrueground [a-z]+ [^\n`;]*)"
    r"|(?<![\w-])--(?P<name>[a-z][a-z0-9]*(?:-[a-z0-9]+)*)"
    r"(?: (?P<value>skip\b|stop\b|'[^'\n]*'|\"[^\"\n]*\"|[A-Z0-9…][^\s,;:)]*"
    r"|[a-z_.]+=[^\s,;:)]+|[^\s,;:)]+(?=:)))?"
)
# Commands that are functions too.
_FUNCTIONS = {
    "judge fit": "trueground.fit_judge",
    "judge calibrate": "trueground.calibrate",
    "list metrics": "dir(trueground.metrics)",
    "validate": "trueground.validate",
}
_COMMAND = re.compile(rf"`?trueground ({'|'.join(_FUNCTIONS)})\b.*", re.DOTALL)
_at_terminal = False


class ExitCode(IntEnum):
    """What the command line returns; `cli/exit_codes.py` says when."""

    DONE = 0
    GATE_FAILED = 1
    REFUSED = 2
    NOT_COVERED = 3
    UNREACHABLE = 4
    INCOMPLETE = 5
    INTERRUPTED = 130


class TruegroundError(Exception):
    """Base of all; `exit_code` is what the command line returns if it ends a command."""

    exit_code: ClassVar[ExitCode] = ExitCode.REFUSED

    @property
    def is_refusal(self) -> bool:
        """Whether the work was refused before anything came of it."""
        return self.exit_code is ExitCode.REFUSED

    def __str__(self) -> str:
        """The message; of options it speaks as the caller knows them (see `spoken`)."""
        return spoken(super().__str__())

    def __reduce__(self) -> tuple[Any, ...]:
        """Out of another process it comes back as it is, whatever its constructor takes."""
        return _restored, (type(self), self.args), vars(self)


def _restored(kind: type[TruegroundError], words: tuple[Any, ...]) -> TruegroundError:
    error = kind.__new__(kind)
    error.args = words
    return error


class UsageError(TruegroundError):
    """An option, a name or a combination of options that cannot be meant."""


class InputError(TruegroundError):
    """A file, a data frame or a list that cannot be read as records."""


@dataclass(frozen=True)
class BadRow:
    """One row that is no record: where it stands, what was found, what was expected.

    `row` counts `unit`s: lines of a text file, rows of anything else.
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
        """Alike for rows of one file in which the same is wrong."""
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
    """At least one row is no record. `rows` holds the first ones, `total` counts all.

    `counts` says of each kind how many rows are of it; `advice` is a line of its own.
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
        noun = "row is" if total == 1 else "rows are"
        lines.append(
            f"{total} bad {noun} in the way; nothing was scored. Fix the file, or pass "
            "--on-bad-row skip to score the rest."
        )
        super().__init__("\n".join(lines))


def _format_rows(
    rows: list[BadRow], total: int, counts: Mapping[tuple[str, ...], int]
) -> list[str]:
    """Ten rows at most, three of a kind, and how many there are beside them."""
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
        lines.append(f"… and {total - covered:,} more bad rows")
    return lines


class MissingExtraError(TruegroundError):
    """An optional dependency is needed and absent."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f'{what} needs an optional package: pip install "trueground[{extra}]"')


class OutputError(TruegroundError):
    """The output folder cannot be used; nothing was begun."""


class WriteError(TruegroundError):
    """Writing failed after work had begun; what was finished is on disk."""

    exit_code = ExitCode.INCOMPLETE


class WorkerError(TruegroundError):
    """A process that did part of the work could not start or is gone; what was finished is kept."""

    exit_code = ExitCode.INCOMPLETE


class CoverageError(TruegroundError):
    """The work was done, and nothing could be scored or made, or less than a limit asks for."""

    exit_code = ExitCode.NOT_COVERED


class GraphError(TruegroundError):
    """A knowledge graph that cannot be opened, read or queried."""


class UnreachableError(TruegroundError):
    """The model or judge could not be reached, or lets nobody in; no call succeeded."""

    exit_code = ExitCode.UNREACHABLE


class ProtocolError(TruegroundError):
    """A judge, a decomposer or a metric gave something that its protocol does not allow."""


class PluginError(TruegroundError):
    """What an installed package adds, or a part of trueground itself, can't be loaded."""


class RunInterrupted(TruegroundError):  # noqa: N818 - it is a request, not a mistake
    """The user pressed Ctrl-C; what was finished is on disk."""

    exit_code = ExitCode.INTERRUPTED


def find_near(name: str, known: Iterable[str], others: Iterable[str] = ()) -> list[str]:
    """At most three names that a slip may have meant, the nearest first: as a whole, or in one of
    its words. `others` must be nearer than those known. Nothing where none is near.
    """
    name = name.lower()
    least = _NEAR if len(name) > _SHORT else _NEAR_OF_SHORT
    match = SequenceMatcher(b=name, autojunk=False)

    def likeness(other: str) -> float:
        match.set_seq1(other)
        return match.ratio()

    ranked = []
    weights = {**dict.fromkeys(others, _OTHER), **dict.fromkeys(known, 1.0)}
    for one, weight in weights.items():
        words = re.split(r"[_-]", one.lower())
        within = max(map(likeness, words)) if len(words) > 1 else 0.0
        ranked.append((weight * max(likeness(one.lower()), _WORD * within), one))
    ranked.sort(key=lambda pair: (-pair[0], pair[1]))
    return [one for ratio, one in ranked[:_SUGGESTED] if ratio >= least]


def unknown_name(
    kind: str, name: str, known: Iterable[str], others: Iterable[str] = ()
) -> UsageError:
    """The error for a name that does not exist: with the nearest three at most, or all if few.

    `others` may be suggested too, and are not listed: names that lead to a known one.
    """
    allowed = sorted(known)
    few = len(allowed) <= _FEW
    near = find_near(name, allowed, others)
    hint = f" Did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
    if few or not (near or kind in _LISTED):
        hint += f" Known: {', '.join(allowed)}."
    elif kind in _LISTED:
        hint += f" All {len(allowed)} are shown by: trueground list {kind}s"
    return UsageError(f"unknown {kind} {name!r}.{hint}")


def hide_notes(quiet: bool) -> bool:
    """From now on `tell` says only what is no mere note (`--quiet`); returns its argument."""
    global _quiet
    _quiet = quiet
    return quiet


def tell(message: str, *, note: bool = False) -> None:
    """Say something on standard error, at once: what a user should know before the work ends.

    Of options it speaks as the caller knows them (see `spoken`).
    """
    if not (note and _quiet):
        print(f"trueground: {spoken(message)}", file=sys.stderr)


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


@contextmanager
def at_terminal() -> Iterator[None]:
    """Within the block errors speak of options: a command runs. Its `--quiet` ends with it."""
    global _at_terminal, _quiet
    terminal_before, quiet_before = _at_terminal, _quiet
    _at_terminal = True
    try:
        yield
    finally:
        _at_terminal, _quiet = terminal_before, quiet_before


def spoken(text: str) -> str:
    """The text as the one should read it who called: a person at a terminal, or Python."""
    options = "--" in text or "trueground " in text
    return in_python(text) if options and not _at_terminal else text


def in_python(text: str) -> str:
    """`choose another --out` → ``choose another `out` ``; commands of a shell stay as they are,
    but for those that are functions.
    """
    return _OPTION.sub(_parameter, text)


def _parameter(match: re.Match[str]) -> str:
    if match["command"] is not None:
        function = _COMMAND.fullmatch(match["command"])
        return f"`{_FUNCTIONS[function[1]]}`" if function else match["command"]
    name, value = match["name"], match["value"]
    parameter = _PARAMETERS.get(name, name.replace("-", "_"))
    if name in _SWITCHES:
        parameter += "=True"
    if value is None or "=" in parameter:
        return f"`{parameter}`" + (f" {value}" if value else "")
    if name == "map" and "=" in value:
        field, _, column = value.partition("=")
        value = f'{{"{field}": "{column}"}}'
    elif not value.startswith(("'", '"')) and not _is_number(value):
        value = f'"{value}"'
    return f"`{parameter}={value}`"


def _is_number(value: str) -> bool:
    return re.fullmatch(r"-?\d[\d_.e+-]*", value) is not None
