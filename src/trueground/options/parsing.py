"""Settings objects out of what users wrote, and back into text.

A field without an `Option` is no option: who parses the options passes it in. A field is a str,
Path, int, float, bool (a flag), a Literal of str, a tuple of str (commas between), or one of these
or None. A class that must check two options against each other does so in `__post_init__`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import MISSING
from os import PathLike
from typing import Any, TypeVar

from trueground.errors import UsageError, unknown_name
from trueground.options.declaration import EMPTY, DeclaredOption, declared_options
from trueground.options.values import ValueRejectedError, parse_value

T = TypeVar("T")
# An option as text; a flag as a bool; None if it was not given.
Value = str | bool | None


def parse_options(kind: type[T], of: str, given: Mapping[str, Any], **fixed: Any) -> T:
    """Return the options as an object of the class that declares them.

    Args:
        kind: The class.
        of: What the options belong to, for messages, such as `faitheval`.
        given: The options that the user gave, as text or as values.
        **fixed: Fields that are no options, such as `task`.

    Raises:
        UsageError: An option is unknown, or its value is not allowed, alone or with the others.
    """
    declared = declared_options(kind)
    texts = resolve_options(declared, of, given)
    used = {option.name: option for option in declared if texts[option.name] != default_of(option)}
    for option in used.values():
        _check_combination(option, of, str(fixed.get("task", "")), used)
    values = {option.field: parse_option(option, texts[name]) for name, option in used.items()}
    return kind(**fixed, **values)


def resolve_options(
    declared: Iterable[DeclaredOption], of: str, given: Mapping[str, Any]
) -> dict[str, Value]:
    """Return the text of every option: the user's, else the default.

    Raises:
        UsageError: An option is unknown, or its value is none of its choices.
    """
    options = {option.name: option for option in declared}
    texts = {name: default_of(option) for name, option in options.items()}
    for spelling, value in given.items():
        name = spelling.replace("_", "-")  # as Python spells it
        if name not in options:
            raise unknown_name(f"option of {of}", spelling, options)
        if value is not None:
            texts[name] = _as_text(options[name], value)
    return texts


def parse_option(option: DeclaredOption, value: Value) -> Any:
    """Return the value of a text, in the type of the option. UsageError if it is not allowed."""
    if isinstance(value, bool):
        return value
    text = str(value).strip()
    if not text:
        raise UsageError(f"--{option.name} is empty; give it a value, or leave it out")
    try:
        return parse_value(option, text)
    except ValueRejectedError as error:
        raise UsageError(f"--{option.name} {text}: expected {error}") from None


def unused_options(options: Any, of: str, given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the given options that have no effect together with the others."""
    declared = declared_options(type(options))
    texts = resolve_options(declared, of, given)
    unused = []
    for option in declared:
        is_given = texts[option.name] != default_of(option)
        if is_given and not _has_effect(option, options):
            unused.append(option.name)
    return tuple(unused)


def format_options(options: Any) -> dict[str, Value]:
    """Return every option of a settings object as text; None if it was not given."""
    texts = {}
    for option in declared_options(type(options)):
        value = vars(options)[option.field]  # not as a task reads it
        is_default = value == option.default
        texts[option.name] = default_of(option) if is_default else format_value(value)
    return texts


def default_of(option: DeclaredOption) -> Value:
    """Return the default as a user would write it; None if there is none to show."""
    if option.option.unset or option.default is EMPTY or option.default is MISSING:
        return None
    return format_value(option.default)


def format_value(value: Any) -> Value:
    """Return the text of a value; a bool and None as they are."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    if isinstance(value, tuple):
        return ",".join(map(str, value)) or None
    return str(value)


def _as_text(option: DeclaredOption, value: Any) -> Value:
    is_flag = option.is_flag and not option.option.unset
    if isinstance(value, list | tuple | float | int | PathLike) and not isinstance(value, bool):
        value = format_value(tuple(value) if isinstance(value, list) else value)
    if option.choices and value not in option.choices:
        raise UsageError(f"--{option.name} {value}: expected one of {', '.join(option.choices)}")
    if isinstance(value, bool) != is_flag:
        expected = "true or false" if is_flag else "text"
        raise UsageError(f"--{option.name} {value!r}: expected {expected}")
    return value  # type: ignore[no-any-return]


def _check_combination(declared: DeclaredOption, of: str, task: str, used: Collection[str]) -> None:
    option, name = declared.option, declared.name
    if option.tasks and task not in option.tasks:
        plural = "s" if len(option.tasks) > 1 else ""
        raise UsageError(
            f"--{name} is for the task{plural} {', '.join(option.tasks)}, not for {task}; run "
            f"{of}/{option.tasks[0]}, or leave the option out"
        )
    for other in option.needs:
        if other not in used:
            raise UsageError(f"--{name} is for --{other}; give that too, or leave it out")
    for other, hint in option.excludes.items():
        if other in used:
            raise UsageError(f"--{name} and --{other} exclude each other; {hint}")


def _has_effect(declared: DeclaredOption, options: Any) -> bool:
    applies = declared.option.applies
    return all(getattr(options, name) in values for name, values in applies.items())
