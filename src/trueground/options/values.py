"""From text to numbers and names, the one check of a number's range, and back to text."""

from __future__ import annotations

import re
from math import inf, isfinite
from typing import Any

from trueground.options.option import Option

MAX_WHOLE = 2**53 - 1  # the largest whole number that every JSON reader reads exactly
_MAX_DIGITS = 9  # of a whole number that is written as text
_WHOLE = re.compile(r"-?[0-9]+")
_NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE]-?[0-9]{1,3})?")


class ValueRejectedError(ValueError):
    """A value that its option doesn't allow. The message says what was expected."""


def parse_number(kind: type[int] | type[float], text: str, option: Option) -> int | float:
    """Return the number that a text is. ValueRejectedError: it is none, or out of range."""
    is_whole = kind is int
    expected = option.expected or describe_range(option, is_whole=is_whole)
    if not (_WHOLE if is_whole else _NUMBER).fullmatch(text):
        raise ValueRejectedError(expected)
    if is_whole and len(text) > _MAX_DIGITS:
        raise ValueRejectedError(f"{expected}, below {10**_MAX_DIGITS:,}")
    number = kind(text)
    if not _is_within(number, option, is_whole=is_whole):
        raise ValueRejectedError(expected)
    return number


def parse_names(text: str, option: Option) -> tuple[str, ...]:
    """Return names with commas between, each once. ValueRejectedError: there is none."""
    names = [name.strip() for name in text.split(",")]
    if not any(names):
        raise ValueRejectedError(option.expected or "names with commas between")
    return tuple(dict.fromkeys(filter(None, names)))


def check_number(kind: type[int] | type[float], value: object, option: Option) -> None:
    """Check the type and the range of a number. Raises ValueRejectedError."""
    is_whole = kind is int
    expected = option.expected or describe_range(option, is_whole=is_whole)
    kinds = (int,) if is_whole else (int, float)
    if not isinstance(value, kinds) or isinstance(value, bool):
        raise ValueRejectedError(expected)
    assert isinstance(value, int | float)
    if not isfinite(value):
        raise ValueRejectedError("a finite number")
    largest = MAX_WHOLE if option.max is None else int(option.max)
    if is_whole and value > largest >= MAX_WHOLE:
        raise ValueRejectedError(f"{expected}, up to {largest:,}")
    if not _is_within(value, option, is_whole=is_whole):
        raise ValueRejectedError(expected)


def format_value(value: Any) -> str | bool | None:
    """Return the text of a value; a bool and None as they are."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    if isinstance(value, tuple):
        return ",".join(map(str, value)) or None
    return str(value)


def describe_range(option: Option, *, is_whole: bool) -> str:
    """Return what a number of this range is, such as `a whole number, 1 to 7`."""
    low, high = option.min, option.max
    if is_whole:
        if low is None:
            return "a whole number"
        is_open = high is None or high >= MAX_WHOLE
        bounds = f"{int(low):,} or more" if is_open else f"{int(low):,} to {int(high or 0):,}"
        return f"a whole number, {bounds}"
    if low is None or high is None:
        if low is None:
            return "a number"
        return f"a number above {low:g}" if option.above else f"a number, {low:g} or more"
    if option.above and option.below:
        return f"a number between {low:g} and {high:g}"
    if option.below:
        return f"a number, {low:g} or more and below {high:g}"
    bounds = f"above {low:g}, {high:g} at most" if option.above else f"from {low:g} to {high:g}"
    return f"a number {bounds}, such as {high / 2:g}"


def _is_within(number: float, option: Option, *, is_whole: bool) -> bool:
    low = -inf if option.min is None else option.min
    high = option.max
    if high is None:
        high = MAX_WHOLE if is_whole else inf
    if not isfinite(number) or not low <= number <= high:
        return False
    return not (option.above and number == low) and not (option.below and number == high)
