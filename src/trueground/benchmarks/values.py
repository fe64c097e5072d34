"""Options of a benchmark as what they mean: texts, paths, whole numbers; None where not given."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from trueground.benchmarks.base import Value
from trueground.errors import UsageError

_DIGITS = 9


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


def number_of(options: Mapping[str, Value], name: str, least: int) -> int | None:
    """The option as a whole number. UsageError where it is none, too small or beyond a billion."""
    text = text_of(options, name)
    if text is None:
        return None
    whole = text.isascii() and text.isdecimal() and int(text[:20]) >= least
    if not whole or len(text) > _DIGITS:
        raise UsageError(f"--{name} {text}: expected a whole number, {least} or more")
    return int(text)
