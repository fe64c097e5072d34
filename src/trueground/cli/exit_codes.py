"""The one rule from the outcome of a command to its exit code; docs/run-directory.md lists them."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from trueground.cli._output import echo_note
from trueground.errors import ExitCode, TruegroundError

if TYPE_CHECKING:
    from trueground.runs import Summary


# The first of these that applies. What ended a command outweighs what its numbers say.
PRECEDENCE = (
    ExitCode.INTERRUPTED,
    ExitCode.INCOMPLETE,
    ExitCode.UNREACHABLE,
    ExitCode.REFUSED,
    ExitCode.GATE_FAILED,
    ExitCode.NOT_COVERED,
)
# Only writing ends in these, so that work had begun.
_WRITE_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@dataclass(frozen=True)
class Outcome:
    """What a command, or one of several runs that it makes, came to.

    Attributes:
        error: What ended it, if anything did.
        gate_failed: Whether a gate such as `--fail-under` failed.
        uncovered: Whether nothing at all could be scored or made, or less than a limit such as
            `--min-coverage`.
    """

    error: BaseException | None = None
    gate_failed: bool = False
    uncovered: bool = False


def exit_code(*outcomes: Outcome) -> ExitCode:
    """Return the exit code for all outcomes of a command.

    Raises:
        BaseException: The error of an outcome itself, if it is a defect and not an error that a
            user can mend.
    """
    codes = set[ExitCode]()
    for outcome in outcomes:
        if outcome.error is not None:
            codes.add(_code_of(outcome.error))
        if outcome.gate_failed:
            codes.add(ExitCode.GATE_FAILED)
        if outcome.uncovered:
            codes.add(ExitCode.NOT_COVERED)
    for code in PRECEDENCE:
        if code in codes:
            return code
    return ExitCode.DONE


def check_scored(summary: Summary, place: str = "", *, chosen: bool = True) -> Outcome:
    """Return the outcome of a run without gates; say so if nothing of it could be scored.

    Args:
        summary: The numbers of the run.
        place: What the message begins with.
        chosen: Whether its metrics were chosen by name.
    """
    from trueground.evaluate import Gates

    verdict = Gates().judge(summary, chosen=chosen)
    for message in verdict.messages:
        echo_note(f"{place}{message}")
    return Outcome(uncovered=verdict.uncovered)


def end_with(*outcomes: Outcome, uncovered: bool = False) -> None:
    """End the command, unless its exit code is that of a command that simply returns.

    Args:
        outcomes: What the runs of the command came to.
        uncovered: Whether the command itself could score or make nothing at all.
    """
    code = exit_code(*outcomes, Outcome(uncovered=uncovered))
    if code is not ExitCode.DONE:
        raise typer.Exit(code)


def _code_of(error: BaseException) -> ExitCode:
    if isinstance(error, TruegroundError):
        return error.exit_code
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return ExitCode.INTERRUPTED
    if isinstance(error, BrokenPipeError):  # the reader of the output has all it wants
        return ExitCode.DONE
    if isinstance(error, OSError):
        # Standard output is the only file without a name.
        is_write = error.filename is None or error.errno in _WRITE_ERRORS
        return ExitCode.INCOMPLETE if is_write else ExitCode.REFUSED
    if hasattr(error, "format_message"):  # the parser of the command line refuses it
        return ExitCode.REFUSED
    raise error
