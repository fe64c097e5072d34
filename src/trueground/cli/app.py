"""The command tree, and how a command ends. A command's module is imported when it is called."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from trueground._version import __version__
from trueground.cli._options import HELP, CommandGroup
from trueground.cli._output import drop_output, guard_streams
from trueground.cli.exit_codes import Outcome, exit_code
from trueground.components import EntryPoint
from trueground.errors import ExitCode, PluginError, TruegroundError, UsageError, user_messages

# Where each command of the core is found, in the order of the help. Others are entry points.
COMMANDS = {
    "score": "score:score",
    "merge": "score:merge",
    "validate": "labels:validate",
    "compare": "compare:compare",
    "report": "report:report",
    "view": "report:view",
    "list": "list:list_",
    "run": "run:group",
    "judge": "labels:judge",
    "data": "data:data",
    "cache": "cache:cache",
}
_GROUP = "trueground.commands"


class Commands(CommandGroup):
    """The commands of the core and of plug-ins, each imported when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of the core's commands in their order, then the others, sorted."""
        for entry in EntryPoint.of_group(_GROUP):
            if entry.name in COMMANDS:
                user_messages.show(
                    f"the command {entry.name!r} of {entry.package} is ignored: the name is taken"
                )
        return [*COMMANDS, *sorted(_added_commands())]

    def help_of(self, name: str) -> str | None:
        """The docstring of a command, the text of a group; an error in place of what is broken."""
        try:
            command = _import(name)
        except PluginError as error:
            return f"(error: {error})"
        return command.info.help if isinstance(command, typer.Typer) else inspect.getdoc(command)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command or group of this name; None where there is none. Raises PluginError."""
        if cmd_name not in COMMANDS and cmd_name not in _added_commands():
            self.commands = dict.fromkeys(self.list_commands(ctx), self)  # to suggest names
            return None
        command, holder = _import(cmd_name), typer.Typer(rich_markup_mode=None)
        if isinstance(command, typer.Typer):
            holder.add_typer(command, name=cmd_name)
        else:
            holder.command(cmd_name)(command)
        return typer.main.get_group(holder).commands[cmd_name]


def _import(name: str) -> Any:
    if name not in COMMANDS:
        return _added_commands()[name].load()
    module, _, attribute = COMMANDS[name].partition(":")
    return getattr(import_module(f"trueground.cli.{module}"), attribute)


def _added_commands() -> dict[str, EntryPoint]:
    """Commands that aren't the core's, by name; of two with one name, the first."""
    added: dict[str, EntryPoint] = {}
    for entry in EntryPoint.of_group(_GROUP):
        if entry.name not in COMMANDS:
            added.setdefault(entry.name, entry)
    return added


app = typer.Typer(
    cls=Commands,
    name="trueground",
    help="Measure how well a model's answers are grounded in their context.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=HELP,
)


def _show_version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(f"trueground {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run(arguments: Sequence[str], name: str | None = None) -> int:
    """Run the command line and return its exit code; `name` is the program's in usage lines."""
    guard_streams()
    # Many small products gain nothing from BLAS threads and suffer when cores are busy.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with user_messages.at_terminal():
        return _run(arguments, name)


def _run(arguments: Sequence[str], name: str | None) -> int:
    try:
        _check_arguments(arguments)
        # color: what looks like a color in a text is not dropped before it is shown as what it is.
        code = app(args=list(arguments), prog_name=name, standalone_mode=False, color=True)
        sys.stdout.flush()
    except SystemExit as ended:
        if not isinstance(ended.__context__, BrokenPipeError):  # typer makes it exit 1
            raise
        return _end_by(ended.__context__)
    except Exception as error:
        return _end_by(error)
    return code if isinstance(code, int) else ExitCode.DONE


def _end_by(error: BaseException) -> int:
    """Print the error that ended the command, and return its exit code.

    Raises unexpected errors again, with their traceback.
    """
    code = exit_code(Outcome(error))
    if isinstance(error, TruegroundError):
        message = str(error)
    elif isinstance(error, BrokenPipeError):  # the reader has gone, as in `trueground list | head`
        drop_output()
        return code
    elif isinstance(error, OSError) and error.filename is not None:
        path = os.fsdecode(error.filename)
        message = f"{path}: {error.strerror}. Fix it, or give another path"
    elif isinstance(error, OSError):
        drop_output()
        message = f"writing to standard output failed: {error.strerror or error}"
    elif isinstance(error, typer.Abort):
        message = "interrupted"
    else:
        message = f"{error.format_message()} (try --help)"  # type: ignore[attr-defined]
    print(f"trueground: {message}", file=sys.stderr)
    return code


_READ_FOLDERS = ("compare", "report", "view")  # commands whose arguments are folders of runs


def _check_arguments(arguments: Sequence[str]) -> None:
    """Raise UsageError for values that no option accepts, before any work.

    Without this check, an empty value from an unset variable would mean the current folder, or
    that the option is left out.
    """
    in_stores = arguments[:1] == ["score"]  # its runs may be in an object store
    reads_folders = bool(arguments) and arguments[0] in _READ_FOLDERS
    for before, word in zip(["", *arguments], arguments, strict=False):
        option, equals, value = before, "=", word
        if word.startswith("--"):
            option, equals, value = word.partition("=")
        if equals and (reason := _unusable(option, value, in_stores=in_stores)):
            raise UsageError(f"{option if option.startswith('-') else 'an argument'} {reason}")
        if reads_folders and "://" in word and not before.startswith("-"):
            from trueground.net import redact_urls

            raise UsageError(
                f"{redact_urls(word)} is a URL, but `{arguments[0]}` reads only folders on this "
                "machine. Copy the run into a folder and give that. Its page is report.html"
            )


def _unusable(option: str, value: str, *, in_stores: bool) -> str | None:
    """Return why the option can't have this value. None if it can."""
    if not value:
        return "has an empty value. Is a variable unset? Give a value, or leave it out"
    try:
        value.encode()
    except UnicodeEncodeError:
        return f"isn't valid UTF-8: {value[:60]!a}"
    if option == "--out" and "://" in value and (value.startswith("file:") or not in_stores):
        from trueground.net import redact_urls

        return (
            f"is the URL {redact_urls(value)}. Give a path on this machine, and copy it from there"
        )
    return None
