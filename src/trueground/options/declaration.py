"""One option as it was declared: name, type and default, and what its values can be."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, dataclass
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from trueground.errors import UsageError
from trueground.options.option import Option
from trueground.options.values import (
    ValueRejectedError,
    check_number,
    format_value,
    parse_names,
    parse_number,
)


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

    @classmethod
    def of(cls, name: str, type: Any, default: Any, option: Option) -> DeclaredOption:  # noqa: A002
        """Return the option of that name, type and default."""
        optional = NoneType in get_args(type)
        if optional:
            kinds = [kind for kind in get_args(type) if kind is not NoneType]
            type = kinds[0] if len(kinds) == 1 else type  # noqa: A001
        choices = get_args(type) if get_origin(type) is Literal else ()
        return cls(name, type, default, option, choices, optional)

    @classmethod
    def of_parameter(cls, parameter: inspect.Parameter) -> DeclaredOption | None:
        """Return the option that a parameter declares in its annotation; None if it is none."""
        for metadata in getattr(parameter.annotation, "__metadata__", ()):
            if isinstance(metadata, Option):
                kind = get_args(parameter.annotation)[0]
                return cls.of(parameter.name, kind, parameter.default, metadata)
        return None

    @property
    def name(self) -> str:
        """The name with hyphens, as on the command line."""
        return self.field.replace("_", "-")

    @property
    def is_flag(self) -> bool:
        """Whether the command line has it as a flag without a value."""
        return isinstance(self.default, bool)

    @property
    def parameter(self) -> inspect.Parameter:
        """The option as a keyword parameter of a function."""
        kind = self.type | None if self.optional else self.type
        return inspect.Parameter(
            self.field,
            inspect.Parameter.KEYWORD_ONLY,
            default=self.default,
            annotation=Annotated[kind, self.option],
        )

    @property
    def default_text(self) -> str | bool | None:
        """The default as a user would write it; None if there is none to show."""
        is_required = self.default is inspect.Parameter.empty or self.default is MISSING
        return None if self.option.unset or is_required else format_value(self.default)

    def as_dict(self) -> dict[str, Any]:
        """Return the default, the allowed values and the help text, for lists of options."""
        return {
            "default": self.default_text,
            "allowed": list(self.choices),
            "doc": self.option.help,
        }

    def has_effect(self, settings: object) -> bool:
        """Return whether the option has an effect together with the others of its settings."""
        applies = self.option.applies
        return all(getattr(settings, name) in values for name, values in applies.items())

    def parse(self, text: str) -> Any:
        """Return the value that the text stands for, in the type of the option.

        Raises:
            ValueError: The text is no value of that type, or out of range. The message says what
                was expected.
        """
        text = text.strip()
        if self.choices:
            if text not in self.choices:
                raise ValueRejectedError(f"one of {', '.join(self.choices)}")
            return text
        if self.type is Path:
            return Path(text)
        if self.type is int or self.type is float:
            return parse_number(self.type, text, self.option)
        if get_origin(self.type) is tuple:
            return parse_names(text, self.option)
        return text

    def check(self, value: object) -> None:
        """Check the type and the range of a number, and that a value is one of the choices.

        Raises:
            UsageError: It is no number of that type, or out of range. The message names the option
                as the command line does.
        """
        try:
            self._check(value)
        except ValueRejectedError as error:
            flag = next(iter(self.option.flags), f"--{self.name}")
            shown = value if isinstance(value, int | float) else repr(value)
            raise UsageError(f"{flag} {shown}: expected {error}") from None

    def _check(self, value: object) -> None:
        if value is None and (self.optional or self.default is None):
            return
        if self.choices and value not in self.choices:
            raise ValueRejectedError(f"one of {', '.join(map(str, self.choices))}")
        if self.type is int or self.type is float:
            check_number(self.type, value, self.option)
