"""The command line: one thin file per command. Parse, call, print, exit.

A command of another package, or of a part of trueground outside its core, is an entry point of the
group `trueground.commands`: `NAME = "module:attribute"`, a function or a `typer.Typer`. It needs no
more than the names in `__all__` from here.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trueground.cli._options import CommandGroup, takes
    from trueground.cli._output import Screen
    from trueground.cli.exit_codes import end_with

_HOMES = {
    "CommandGroup": "_options",
    "Screen": "_output",
    "end_with": "exit_codes",
    "takes": "_options",
}
__all__ = ["CommandGroup", "Screen", "end_with", "main", "run_command", "takes"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def main() -> None:
    """The entry point of the process."""
    sys.exit(run_command())


def run_command(arguments: Sequence[str] | None = None) -> int:
    """Run a command line, and return its exit code; without `arguments` those of the process.

    With them it runs beside other code: `sys.argv` and the standard streams stay as they are. An
    error that is a defect of trueground is raised. Ctrl-C gives 130, even while modules are loaded.
    """
    try:
        if arguments is None:
            from trueground.cli.app import run

            return run(sys.argv[1:])
        from trueground.cli._output import in_process
        from trueground.cli.app import run

        with in_process(arguments):
            return run(arguments, "trueground")
    except KeyboardInterrupt:
        from trueground.errors import ExitCode

        print("trueground: interrupted", file=sys.stderr)
        return ExitCode.INTERRUPTED
