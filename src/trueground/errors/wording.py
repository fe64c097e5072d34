"""Messages in the words of the caller: options at a terminal, parameters in Python.

A message names options as the command line does. If no command runs, it is shown with the
parameters of the functions instead; `tests/test_wording.py` checks the tables here against their
signatures.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

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


class UserMessages:
    """Messages to the user, in the words of the caller: a person at a terminal, or Python."""

    def __init__(self) -> None:
        self._hides_notes = False
        self._is_at_terminal = False

    def show(self, message: str, *, note: bool = False) -> None:
        """Print to standard error at once what a user should know before the work ends.

        Args:
            message: The message, which names options as the command line does.
            note: Whether `--quiet` hides it.
        """
        if not (note and self._hides_notes):
            print(f"trueground: {self.word(message)}", file=sys.stderr)

    def word(self, text: str) -> str:
        """Return the text with options as the caller knows them."""
        has_options = "--" in text or "trueground " in text
        return in_python(text) if has_options and not self._is_at_terminal else text

    def hide_notes(self, quiet: bool) -> bool:
        """Show notes no longer if `quiet` is True. Returns its argument."""
        self._hides_notes = quiet
        return quiet

    @contextmanager
    def at_terminal(self) -> Iterator[None]:
        """Name options as the command line does, inside the block. Its `--quiet` ends with it."""
        before = self._is_at_terminal, self._hides_notes
        self._is_at_terminal = True
        try:
            yield
        finally:
            self._is_at_terminal, self._hides_notes = before


user_messages = UserMessages()


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
