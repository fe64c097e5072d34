"""From text to the value of an option, and the one check of its range."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import inf, isfinite
from pathlib import Path
from typing import Any, get_origin

from trueground.errors import UsageError
from trueground.options.declaration import DeclaredOption, Option, declared_options

MAX_WHOLE = 2**53 - 1  # the largest whole number that every JSON reader reads exactly
MAX_SEED = 2**63 - 1  # the largest seed
_MAX_DIGITS = 9  # of a whole number that is written as text
_WHOLE = re.compile(r"-?[0-9]+")
_NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE]-?[0-9]{1,3})?")


class ValueRejectedError(ValueError):
    """A value that its option doesn't allow. The message says what was expected."""


def parse_value(declared: DeclaredOption, text: str) -> Any:
    """Return the value that the text stands for, in the type of the option.

    Raises:
        ValueRejectedError: The text is no value of that type, or out of range.
    """
    text = text.strip()
    if declared.choices:
        if text not in declared.choices:
            raise ValueRejectedError(f"one of {', '.join(declared.choices)}")
        return text
    if declared.type is Path:
        return Path(text)
    if declared.type is int or declared.type is float:
        return _parse_number(declared.type, text, declared.option)
    if get_origin(declared.type) is tuple:
        names = [name.strip() for name in text.split(",")]
        if not any(names):
            raise ValueRejectedError(declared.option.expected or "names with commas between")
        return tuple(dict.fromkeys(filter(None, names)))
    return text


def check_value(declared: DeclaredOption, value: object) -> None:
    """Check the type and the range of a number, and that a value is one of the choices.

    Raises:
        ValueRejectedError: It is no number of that type, or out of range.
    """
    if value is None and (declared.optional or declared.default is None):
        return
    if declared.choices and value not in declared.choices:
        raise ValueRejectedError(f"one of {', '.join(map(str, declared.choices))}")
    is_whole = declared.type is int
    if not is_whole and declared.type is not float:
        return
    option = declared.option
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


def check_settings(settings: object) -> None:
    """Check the numbers of all options of a settings object.

    Raises:
        UsageError: One of them is out of range. The message names it.
    """
    for declared in declared_options(type(settings)):
        check_named(declared, getattr(settings, declared.field))


def check_arguments(function: Callable[..., Any], **values: object) -> None:
    """Check arguments of a function against the ranges that it declares.

    Raises:
        UsageError: One of them is out of range. The message names it.
    """
    for declared in declared_options(function):
        if declared.field in values:
            check_named(declared, values[declared.field])


def check_named(declared: DeclaredOption, value: object) -> None:
    """Check one value; the UsageError names the option as the command line does."""
    try:
        check_value(declared, value)
    except ValueRejectedError as error:
        flag = next(iter(declared.option.flags), f"--{declared.name}")
        shown = value if isinstance(value, int | float) else repr(value)
        raise UsageError(f"{flag} {shown}: expected {error}") from None


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


def _parse_number(kind: type[int] | type[float], text: str, option: Option) -> int | float:
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


def _is_within(number: float, option: Option, *, is_whole: bool) -> bool:
    low = -inf if option.min is None else option.min
    high = option.max
    if high is None:
        high = MAX_WHOLE if is_whole else inf
    if not isfinite(number) or not low <= number <= high:
        return False
    return not (option.above and number == low) and not (option.below and number == high)
