"""Options of a benchmark or builder as what they mean: texts, paths, numbers; None if not given."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from trueground.benchmarks.base import Value
from trueground.errors import UsageError

_DIGITS = 9
_NUMBER = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE]-?[0-9]{1,3})?")


def text_of(options: Mapping[str, Value], name: str) -> str | None:
    """The option without outer white space. UsageError where nothing is left."""
    value = options[name]
    if value is None:
        return None
    if not str(value).strip():
        raise UsageError(f"--{name} is empty; give it a value, or leave it out")
    return str(value).strip()


def path_of(options: Mapping[str, Value], name: str) -> Path | None:
    """The option as a path. UsageError where it is empty."""
    text = text_of(options, name)
    return None if text is None else Path(text)


def number_of(
    options: Mapping[str, Value], name: str, least: int, most: int | None = None
) -> int | None:
    """The option as a whole number.

    UsageError where it is none, smaller than `least`, greater than `most` or beyond a billion.
    """
    text = text_of(options, name)
    if text is None:
        return None
    whole = text.isascii() and text.isdecimal() and len(text) <= _DIGITS
    if not whole or int(text) < least or (most is not None and int(text) > most):
        bounds = f"{least} or more" if most is None else f"{least} to {most}"
        raise UsageError(f"--{name} {text}: expected a whole number, {bounds}")
    return int(text)


def whole_of(options: Mapping[str, Value], name: str, least: int, most: int | None = None) -> int:
    """As `number_of`, of an option that cannot be left out because it has a default."""
    number = number_of(options, name, least, most)
    if number is None:
        raise _needed(name)
    return number


def share_of(
    options: Mapping[str, Value], name: str, most: float = 1.0, *, zero: bool = True
) -> float:
    """The option as a number from 0 (above it, without `zero`) to `most`. UsageError."""
    text = text_of(options, name)
    if text is None:
        raise _needed(name)
    share = float(text) if _NUMBER.fullmatch(text) else -1.0
    if not (0.0 <= share <= most and (zero or share)):
        bounds = f"from 0 to {most:g}" if zero else f"above 0, {most:g} at most"
        raise UsageError(f"--{name} {text}: expected a number {bounds}, such as {most / 2:g}")
    return share


def _needed(name: str) -> UsageError:
    return UsageError(f"--{name} has no value; give it one, or leave it out")
