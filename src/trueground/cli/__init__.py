"""The command line: one thin file per command. Parse, call, print, exit."""

from __future__ import annotations

import sys
from collections.abc import Sequence


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
