"""Options of a benchmark or builder: one class whose fields say all that is known of each.

    @dataclass(frozen=True, kw_only=True)
    class ToyOptions(TaskOptions):
        shots: Annotated[int, OptionInfo("worked examples in the prompt", min=0)] = 2
        style: Annotated[Literal["short", "long"], OptionInfo("how answers are worded")] = "short"
        corpus: Annotated[Path | None, OptionInfo("where passages are", tasks=("open",))] = None

A field without an OptionInfo is no option: who parses the options hands it in. Command line,
`trueground list` and Python read the options from here. A field is a str, Path, int,
float, bool (a flag), a Literal of str, a tuple of str (commas between), or one of these or None. A
class that must check two options against each other does so in `__post_init__`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import KW_ONLY, MISSING, dataclass, field, fields
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from trueground.benchmarks.reads import RecordsReads, peek
from trueground.errors import UsageError, unknown_name

_NUMBERS = {
    int: re.compile(r"[0-9]{1,9}"),
    float: re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE]-?[0-9]{1,3})?"),
}
T = TypeVar("T")
Value = str | bool | None


@dataclass(frozen=True)
class OptionInfo:
    """What stands behind an option's type.

    `min` and `max` are the bounds of a number, both allowed (with `above` not the lower one);
    `expected` says in words what a value must be, where the type does not say it well. An `unset`
    option shows no default of its own, `doc` tells it. A `varied` one may be given several times,
    each a run of its own.

    `tasks` are those that the option is for: given for another one it is refused. It is refused
    too without the options that it `needs`, and beside those that it `excludes` (name → what to
    do). `applies` (option, `task` or property → values) says where it has any effect: elsewhere it
    is taken, and the user is told.
    """

    doc: str
    _: KW_ONLY
    min: float | None = None
    max: float | None = None
    above: bool = False
    expected: str = ""
    unset: bool = False
    varied: bool = False
    tasks: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    excludes: Mapping[str, str] = field(default_factory=dict)
    applies: Mapping[str, tuple[object, ...]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class TaskOptions(RecordsReads):
    """What the options of every benchmark know beside themselves.

    `task` is the task that is asked, `own_prompt` whether the user brings a prompt.
    """

    task: str = ""
    own_prompt: bool = False


@dataclass(frozen=True)
class DeclaredOption:
    """An option of the command line: `name` with hyphens. A bool default makes it a flag.

    A `varied` one may be given several times: each of its values is asked by itself, as a run of
    its own in the sweep.
    """

    name: str
    default: Value
    doc: str
    allowed: tuple[str, ...] = ()
    varied: bool = False
    type: Any = str
    info: OptionInfo | None = None


def declared_options(kind: type[Any]) -> tuple[DeclaredOption, ...]:
    """The options that the class declares, in its order; defaults as the text a user would give."""
    hints = get_type_hints(kind, include_extras=True)
    found = []
    for one in fields(kind):
        metadata = getattr(hints[one.name], "__metadata__", ())
        info = next((part for part in metadata if isinstance(part, OptionInfo)), None)
        if info is None:
            continue
        type_ = get_args(hints[one.name])[0]
        allowed = [part for part in get_args(type_) if part is not NoneType]
        if NoneType in get_args(type_):
            [type_] = allowed
            allowed = list(get_args(type_))
        default = None if info.unset or one.default is MISSING else one.default
        found.append(
            DeclaredOption(
                name=one.name.replace("_", "-"),
                default=_text_of(default),
                doc=info.doc,
                allowed=tuple(allowed) if get_origin(type_) is Literal else (),
                varied=info.varied,
                type=type_,
                info=info,
            )
        )
    return tuple(found)


def settle_options(
    declared: Iterable[DeclaredOption], of: str, given: Mapping[str, Any]
) -> dict[str, Value]:
    """Every option as text (a flag as bool, None: not given). UsageError: unknown, not allowed."""
    options = {option.name: option for option in declared}
    found = {name: option.default for name, option in options.items()}
    for written, value in given.items():
        name = written.replace("_", "-")  # as Python writes it
        if name not in options:
            raise unknown_name(f"option of {of}", written, options)
        if value is None:
            continue
        option, flag = options[name], isinstance(options[name].default, bool)
        if isinstance(value, list | tuple | float | int | PathLike) and not isinstance(value, bool):
            value = _text_of(tuple(value) if isinstance(value, list) else value)
        if option.allowed and value not in option.allowed:
            raise UsageError(f"--{name} {value}: expected one of {', '.join(option.allowed)}")
        if isinstance(value, bool) != flag:
            expected = "true or false" if flag else "text"
            raise UsageError(f"--{name} {value!r}: expected {expected}")
        found[name] = value
    return found


def parse_options(kind: type[T], of: str, given: Mapping[str, Any], **fixed: Any) -> T:
    """The options as what they mean; `fixed` are fields that are no options, such as `task`.

    UsageError: an unknown option, a value that cannot be meant, alone or beside others.
    """
    declared = declared_options(kind)
    texts = settle_options(declared, of, given)
    used = {one.name: one for one in declared if texts[one.name] != one.default}
    for option in used.values():
        _check_beside(option, of, str(fixed.get("task", "")), used)
    values = {n.replace("-", "_"): parse_option(option, texts[n]) for n, option in used.items()}
    return kind(**fixed, **values)


def _check_beside(option: DeclaredOption, of: str, task: str, used: Collection[str]) -> None:
    info, name = option.info, option.name
    assert info is not None
    if info.tasks and task not in info.tasks:
        owners, first = ", ".join(info.tasks), info.tasks[0]
        raise UsageError(
            f"--{name} is for the task{'s' * (len(info.tasks) > 1)} {owners}, not for {task}; run "
            f"{of}/{first}, or leave the option out"
        )
    for other in info.needs:
        if other not in used:
            raise UsageError(f"--{name} is for --{other}; give that too, or leave it out")
    for other, hint in info.excludes.items():
        if other in used:
            raise UsageError(f"--{name} and --{other} exclude each other; {hint}")


def parse_option(option: DeclaredOption, value: Value) -> Any:
    """The value that a text stands for, in the option's type. UsageError."""
    if isinstance(value, bool) or option.allowed:
        return value
    text = str(value).strip()
    if not text:
        raise UsageError(f"--{option.name} is empty; give it a value, or leave it out")
    info = option.info
    if option.type is Path:
        return Path(text)
    if info is not None and option.type in _NUMBERS:
        number = option.type(text) if _NUMBERS[option.type].fullmatch(text) else -1
        low, high = info.min or 0, 10**300 if info.max is None else info.max
        if not low <= number <= high or (info.above and number == low):
            expected = info.expected or _range_of(option.type is int, info)
            raise UsageError(f"--{option.name} {text}: expected {expected}")
        return number
    if get_origin(option.type) is tuple:
        named = tuple(dict.fromkeys(filter(None, map(str.strip, text.split(",")))))
        if not named:
            expected = (info and info.expected) or "names with commas between"
            raise UsageError(f"--{option.name} {text}: expected {expected}")
        return named
    return text


def unused_options(options: Any, of: str, given: Mapping[str, Any]) -> tuple[str, ...]:
    """The options that were given, other than by default, and have no effect beside the others."""
    declared = declared_options(type(options))
    texts = settle_options(declared, of, given)
    return tuple(
        option.name
        for option in declared
        if option.info is not None and texts[option.name] != option.default
        if any(getattr(options, n) not in values for n, values in option.info.applies.items())
    )


def format_options(options: Any) -> dict[str, Value]:
    """Every option as the text that stands for its value; None where it is not given."""
    found: dict[str, Value] = {}
    defaults = {one.name: one.default for one in fields(type(options))}
    for option in declared_options(type(options)):
        name = option.name.replace("-", "_")
        value = peek(options, name)
        found[option.name] = option.default if value == defaults[name] else _text_of(value)
    return found


def _text_of(value: Any) -> Value:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return (",".join(map(str, value)) or None) if isinstance(value, tuple) else str(value)


def _range_of(whole: bool, info: OptionInfo) -> str:
    low = info.min or 0
    if whole:
        bounds = f"{low:.0f} or more" if info.max is None else f"{low:.0f} to {info.max:.0f}"
        return f"a whole number, {bounds}"
    if info.max is None:
        return f"a number above {low:g}" if info.above else f"a number, {low:g} or more"
    bounds = (
        f"above {low:g}, {info.max:g} at most" if info.above else f"from {low:g} to {info.max:g}"
    )
    return f"a number {bounds}, such as {info.max / 2:g}"
