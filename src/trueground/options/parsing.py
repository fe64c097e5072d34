"""Settings objects out of what users wrote, and back into text.

A field without an `Option` is no option: who parses the options passes it in. A field is a str,
Path, int, float, bool (a flag), a Literal of str, a tuple of str (commas between), or one of these
or None. A class that must check two options against each other does so in `__post_init__`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeVar

from trueground.errors import UsageError
from trueground.options.declaration import DeclaredOption
from trueground.options.reading import declared_options
from trueground.options.values import format_value

T = TypeVar("T")


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
    texts = declared.resolve(of, given)
    used = {option.name: option for option in declared.changed(of, given)}
    for option in used.values():
        _check_combination(option, of, str(fixed.get("task", "")), used)
    values = {option.field: _parse_option(option, texts[name]) for name, option in used.items()}
    return kind(**fixed, **values)


def _parse_option(option: DeclaredOption, value: str | bool | None) -> Any:
    """Return the value of a text, in the type of the option. UsageError if it is not allowed."""
    if isinstance(value, bool):
        return value
    text = str(value).strip()
    if not text:
        raise UsageError(f"--{option.name} is empty; give it a value, or leave it out")
    try:
        return option.parse(text)
    except ValueError as error:
        raise UsageError(f"--{option.name} {text}: expected {error}") from None


def format_options(options: Any) -> dict[str, str | bool | None]:
    """Return every option of a settings object as text; None if it was not given."""
    texts = {}
    for option in declared_options(type(options)):
        value = vars(options)[option.field]  # not as a task reads it
        is_default = value == option.default
        texts[option.name] = option.default_text if is_default else format_value(value)
    return texts


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
