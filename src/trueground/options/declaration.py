"""What one option is: a name, a type and a default, with its help and its range.

An option is declared once, as a parameter of a public function or as a field of a settings class:

    @dataclass(frozen=True, kw_only=True)
    class ToyOptions(TaskOptions):
        shots: Annotated[int, Option("Worked examples in the prompt.", min=0)] = 2
        style: Annotated[Literal["short", "long"], Option("How answers are worded.")] = "short"

Python and type checkers read the name, the type and the default. The command line,
`trueground list`, the range check and the docs read them too, together with the help.
"""

from __future__ import annotations

import builtins
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

UNSET: Any = object()
EMPTY = inspect.Parameter.empty


class Option:
    """Declaration of an option, beside the type and the default of what it annotates.

    Args:
        help: Help text. None for an option that needs none.
        *flags: Names on the command line if they differ from the parameter's name. A flag
            "--no-X" of a parameter that is true by default turns it off.
        min: Smallest number allowed.
        max: Largest number allowed.
        above: Whether a number must be larger than `min`.
        below: Whether a number must be smaller than `max`.
        expected: What a value must be, if type and range do not say it well.
        type: Type that a command takes if the function takes more than text can express.
        default: Default of the command if it differs from that of the function.
        parse: Converts the value of the command into the value of the function.
        metavar: Placeholder of the value in the help.
        unset: Whether no default is shown because the help explains it.
        varied: Whether it can be repeated, each value a run of its own.
        tasks: Tasks of a benchmark that have the option. Others reject it.
        needs: Options without which it is rejected.
        excludes: Options that it can't be combined with, each with advice.
        applies: Option, `task` or property, and the values with which it has an effect. With other
            values it is accepted, and the user gets a warning.
    """

    def __init__(
        self,
        help: str | None,  # noqa: A002
        *flags: str,
        min: float | None = None,  # noqa: A002
        max: float | None = None,  # noqa: A002
        above: bool = False,
        below: bool = False,
        expected: str = "",
        type: Any = None,  # noqa: A002
        default: Any = UNSET,
        parse: Callable[[Any], Any] | None = None,
        metavar: str | None = None,
        unset: bool = False,
        varied: bool = False,
        tasks: tuple[str, ...] = (),
        needs: tuple[str, ...] = (),
        excludes: Mapping[str, str] | None = None,
        applies: Mapping[str, tuple[object, ...]] | None = None,
    ) -> None:
        self.help = help
        self.flags = flags
        self.min = min
        self.max = max
        self.above = above
        self.below = below
        self.expected = expected
        self.type = type
        self.default = default
        self.parse = parse
        self.metavar = metavar
        self.unset = unset
        self.varied = varied
        self.tasks = tasks
        self.needs = needs
        self.excludes = excludes or {}
        self.applies = applies or {}

    def __repr__(self) -> str:
        return f"Option({self.help!r})"


@dataclass(frozen=True)
class DeclaredOption:
    """An option as it was declared.

    `field` is its name in Python and `default` its value there. `choices` are the values of a
    Literal; `optional` is whether None is allowed.
    """

    field: str
    type: Any
    default: Any
    option: Option
    choices: tuple[Any, ...] = ()
    optional: bool = False

    @property
    def name(self) -> str:
        """The name with hyphens, as on the command line."""
        return self.field.replace("_", "-")

    @property
    def is_flag(self) -> bool:
        """Whether the command line has it as a flag without a value."""
        return isinstance(self.default, bool)


def declare(
    name: str,
    type: Any,  # noqa: A002
    default: Any,
    option: Option,
) -> DeclaredOption:
    """Return the option of that name, type and default."""
    optional = NoneType in get_args(type)
    if optional:
        kinds = [kind for kind in get_args(type) if kind is not NoneType]
        type = kinds[0] if len(kinds) == 1 else type  # noqa: A001
    choices = get_args(type) if get_origin(type) is Literal else ()
    return DeclaredOption(name, type, default, option, choices, optional)


def declared_options(source: Callable[..., Any]) -> tuple[DeclaredOption, ...]:
    """Return the options that a function or a settings class declares, in its order."""
    return _read_options(source)


@lru_cache(maxsize=256)
def _read_options(source: Any) -> tuple[DeclaredOption, ...]:
    declared = []
    for parameter in parameters_of(source):
        option = option_of(parameter)
        if option is not None:
            type_ = get_args(parameter.annotation)[0]
            declared.append(declare(parameter.name, type_, parameter.default, option))
    return tuple(declared)


def option_of(parameter: inspect.Parameter) -> Option | None:
    """Return the declaration in the annotation of a parameter; None if it is no option."""
    for metadata in getattr(parameter.annotation, "__metadata__", ()):
        if isinstance(metadata, Option):
            return metadata
    return None


def parameters_of(source: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the named parameters of a function, or the fields of a class, with resolved types."""
    names = _Names()
    for owner in reversed(source.__mro__ if isinstance(source, type) else [source]):
        if owner.__module__ in sys.modules:
            names.update(vars(sys.modules[owner.__module__]))
    hints = get_type_hints(source, localns=names, include_extras=True)
    parameters = []
    for parameter in inspect.signature(source).parameters.values():
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            hint = hints.get(parameter.name, parameter.annotation)
            parameters.append(parameter.replace(annotation=hint))
    return parameters


class _Names(dict[str, Any]):
    """Names of a module. Types that only type checkers import are `_Unknown`."""

    def __missing__(self, name: str) -> Any:
        if name.startswith("__"):
            raise KeyError(name)
        return vars(builtins).get(name, _Unknown())


class _Unknown:
    """A type that isn't imported, because it comes from a heavy module; so is what it is part of.

    Only the help and the range check read types, and they need none of these.
    """

    def __getattr__(self, name: str) -> _Unknown:
        if name.startswith("__"):  # `typing` asks for some
            raise AttributeError(name)
        return self

    def __getitem__(self, item: object) -> _Unknown:
        return self

    def __or__(self, other: object) -> _Unknown:
        return self

    __ror__ = __or__

    def __call__(self) -> None:
        """Do nothing: `typing` takes only what can be called for a type."""
