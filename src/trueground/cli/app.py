"""The command tree and the exit codes. Nothing heavy is imported before a command runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

from trueground._version import __version__
from trueground.cli import (
    agreeing,
    annotating,
    building,
    caching,
    comparing,
    data,
    errors_command,
    graphing,
    indexing,
    judging,
    listing,
    reporting,
    running,
    scoring,
    validating,
)
from trueground.cli.streams import guard_streams

INTERRUPTED = 130
WRITE_FAILED = 5
USAGE = 2

app = typer.Typer(
    name="trueground",
    help="Measure how truly a model's answers are grounded in the context they were given.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("score")(scoring.score)
app.add_typer(running.group)
app.add_typer(building.group)
app.add_typer(annotating.annotate)
app.command("agreement")(agreeing.agreement)
app.command("validate")(validating.validate)
app.command("compare")(comparing.compare)
app.command("errors")(errors_command.errors)
app.command("report")(reporting.report)
app.command("list")(listing.list_)
app.add_typer(judging.judge)
app.add_typer(data.data)
app.add_typer(indexing.index)
app.add_typer(graphing.graph)
app.add_typer(caching.cache)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"trueground {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run() -> None:
    """Run the command line; every way out of the process goes through here."""
    guard_streams()
    # Many small products gain nothing from BLAS threads and suffer when cores are busy.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        _check_meant(sys.argv[1:])
        # color: what looks like a colour in a text is not dropped before it is shown as what it is.
        code = app(standalone_mode=False, color=True)
        sys.stdout.flush()
    except BrokenPipeError:
        _leave_quietly()
    except SystemExit as ended:
        if not isinstance(ended.__context__, BrokenPipeError):  # typer makes it exit 1
            raise
        _leave_quietly()
    except OSError as error:
        if error.filename is not None:
            _fail(f"{_named(error)}. Fix it, or name another path", USAGE)
        # What has no name is standard output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        _fail(f"writing to standard output failed: {error.strerror or error}", WRITE_FAILED)
    except Exception as error:
        _exit(error)
    sys.exit(code if isinstance(code, int) else 0)


def _leave_quietly() -> NoReturn:
    """The reader of our output has gone (`trueground list | head`); that is no error of ours."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)


def _check_meant(words: Sequence[str]) -> None:
    """Refuse what no option can mean, before anything is begun. Raises UsageError.

    An empty word, mostly a variable that is not set, would else pass for the current folder or for
    an option that is left out.
    """
    for before, word in zip(["", *words], words, strict=False):
        option, equals, value = before, "=", word
        if word.startswith("--"):
            option, equals, value = word.partition("=")
        if equals and (reason := _unusable(option, value)):
            from trueground.errors import UsageError

            raise UsageError(f"{option if option.startswith('-') else 'an argument'} {reason}")


def _unusable(option: str, value: str) -> str | None:
    """Why the option cannot have this value; None where it can."""
    if not value:
        return "is given an empty value (a variable that is not set?); give one, or leave it out"
    try:
        value.encode()
    except UnicodeEncodeError:
        return f"is not valid UTF-8: {value[:60]!a}; write it as UTF-8 text"
    if option == "--out" and "://" in value:
        from trueground.records.files import redact_urls

        return (
            f"is the URL {redact_urls(value)}; name a path on this machine, and copy it from there"
        )
    return None


def _named(error: OSError) -> str:
    return f"{os.fsdecode(error.filename)}: {error.strerror}"


def _exit(error: Exception) -> None:
    """Known errors are told in words; an unknown one is a defect of ours and keeps its trace."""
    from trueground.errors import TruegroundError

    if isinstance(error, TruegroundError):
        _fail(str(error), error.exit_code)
    shown = getattr(error, "format_message", None)  # click's usage errors
    if shown is not None:
        _fail(f"{shown()} (try --help)", USAGE)
    if type(error).__name__ == "Abort":
        _fail("interrupted", INTERRUPTED)
    raise error


def _fail(message: str, code: int) -> None:
    print(f"trueground: {message}", file=sys.stderr)
    sys.exit(code)
