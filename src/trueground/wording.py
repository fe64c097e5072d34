"""Options in the words of errors: `--out` at a terminal, `out` in Python.

Messages name options as the command line does. Where no command runs, an error shows the parameters
of the functions instead; `tests/test_wording.py` holds this module to their signatures.
"""

from __future__ import annotations

import re
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
_at_terminal = False


@contextmanager
def at_terminal() -> Iterator[None]:
    """Within the block errors speak of options: a command runs."""
    global _at_terminal
    before, _at_terminal = _at_terminal, True
    try:
        yield
    finally:
        _at_terminal = before


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
