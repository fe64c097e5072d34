"""The command line: one thin file per command. Parse, call, print, exit."""

from trueground.cli.app import main

__all__ = ["main"]
