"""The command line: one thin file per command. Parse, call, print, exit."""

from __future__ import annotations

import sys


def main() -> None:
    """The entry point; Ctrl-C ends in 130 even while modules are still being loaded."""
    try:
        from trueground.cli.app import run

        run()
    except KeyboardInterrupt:
        print("trueground: interrupted", file=sys.stderr)
        sys.exit(130)
