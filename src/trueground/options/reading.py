"""The options that a function or a settings class declares."""

from __future__ import annotations

import builtins
import inspect
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from os import PathLike
from typing import Any, get_type_hints

from trueground.errors import UsageError
from trueground.options.declaration import DeclaredOption
from trueground.options.values import format_value


class DeclaredOptions(tuple[DeclaredOption, ...]):
    """All options that a function or a settings class declares, in its order."""

    __slots__ = ()

    def check(self, values: Mapping[str, object]) -> None:
        """Check values by the name of their field; those of other fields are passed over.

        Raises:
            UsageError: One of them is out of range. The message names it.
        """
        for declared in self:
            if declared.field in values:
                declared.check(values[declared.field])

    def resolve(self, of: str, given: Mapping[str, Any]) -> dict[str, str | bool | None]:
        """Return the text of every option: the user's, else the default.

        Args:
            of: What the options belong to, for messages, such as `faitheval`.
            given: The options that the user gave, as text or as values.

        Raises:
            UsageError: An option is unknown, or its value is none of its choices.
        """
        options = {option.name: option for option in self}
        texts = {name: option.default_text for name, option in options.items()}
        for spelling, value in given.items():
            name = spelling.replace("_", "-")  # as Python spells it
            if name not in options:
                raise UsageError.unknown_name(f"option of {of}", spelling, options)
            if value is not None:
                texts[name] = _as_text(options[name], value)
        return texts

    def changed(self, of: str, given: Mapping[str, Any]) -> list[DeclaredOption]:
        """Return the options to which the user gave another value than the default.

        Args and errors are those of `resolve`.
        """
        texts = self.resolve(of, given)
        return [option for option in self if texts[option.name] != option.default_text]


def declared_options(source: Callable[..., Any]) -> DeclaredOptions:
    """Return the options that a function or a settings class declares, in its order."""
    return _read_options(source)


@lru_cache(maxsize=256)
def _read_options(source: Any) -> DeclaredOptions:
    declared = [DeclaredOption.of_parameter(parameter) for parameter in _read_parameters(source)]
    return DeclaredOptions(option for option in declared if option is not None)


def _read_parameters(source: Callable[..., Any]) -> list[inspect.Parameter]:
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


def _as_text(option: DeclaredOption, value: Any) -> str | bool | None:
    is_flag = option.is_flag and not option.option.unset
    if isinstance(value, list | tuple | float | int | PathLike) and not isinstance(value, bool):
        value = format_value(tuple(value) if isinstance(value, list) else value)
    if option.choices and value not in option.choices:
        raise UsageError(f"--{option.name} {value}: expected one of {', '.join(option.choices)}")
    if isinstance(value, bool) != is_flag:
        expected = "true or false" if is_flag else "text"
        raise UsageError(f"--{option.name} {value!r}: expected {expected}")
    return value  # type: ignore[no-any-return]
