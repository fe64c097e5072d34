"""Whether a component from outside keeps its protocol: it has all members, and returns their types.

A user's judge, decomposer, rater, comparer, model or metric is checked where it enters and where it
answers, so that an error names the component, what came back and what was expected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any, TypeVar

import msgspec

from trueground.errors import ProtocolError, UsageError

T = TypeVar("T")
# As msgspec says that a field has another type than declared.
_INVALID = re.compile(
    r"Expected `(?P<expected>[^`]*)`, got `(?P<found>[^`]*)` - at `\$\.(?P<field>\w+)"
)
_MOST_SHOWN = 60  # characters of a value in a message


def describe_value(value: object) -> str:
    """Return the type of a value, and the value if it is short: ``bool (True)``."""
    kind = type(value).__name__
    package = type(value).__module__.partition(".")[0]
    if package not in ("builtins", "__main__"):
        kind = f"{package}.{kind}"
    text = repr(value)
    if text.startswith("<") or len(text) > _MOST_SHOWN or text == kind:
        return kind
    return f"{kind} ({text})"


def check_members(kind: str, component: object, members: Mapping[str, str]) -> None:
    """Raise UsageError if a component lacks a member of its protocol.

    Args:
        kind: What the component is, such as "judge".
        component: The object that the user handed in, or that a plug-in made.
        members: Name of each member, and what it has to be: "text", "number", "tuple" or
            "method".
    """
    if isinstance(component, type):
        raise UsageError(
            f"{kind}={component.__name__} is a class; expected an object: {component.__name__}()"
        )
    if isinstance(component, FunctionType) and kind == "judge":
        raise UsageError(
            f"judge={component.__name__} is a plain function; decorate it with @tg.judge"
        )
    shown = ", ".join(f"{name}()" if kind_ == "method" else name for name, kind_ in members.items())
    name = type(component).__name__
    for member, expected in members.items():
        if not hasattr(component, member):
            raise UsageError(f"the {kind} {name} has no {member!r}; a {kind} has {shown}")
        value = getattr(component, member)
        if not _FITS[expected](value):
            raise UsageError(
                f"the {kind} {name}: {member!r} is {describe_value(value)}; expected a {expected}"
            )


_FITS: dict[str, Any] = {
    "text": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "tuple": lambda value: isinstance(value, tuple),
    "method": callable,
}


def check_answers(
    component: str, noun: str, answers: object, n: int, expected: type[T] | None = None
) -> Sequence[T]:
    """Return the answers of a component if they are a list of `n`, each of the expected type.

    Args:
        component: Who answered, such as "the judge 'mine'".
        noun: What the answers are, in the plural: "verdicts".
        answers: What the component returned.
        n: How many requests it was given.
        expected: The Struct that each answer has to be; None leaves them to the caller.

    Raises:
        ProtocolError: The answers are not a list, are too many or too few, or one is not as
            declared; the message names the component, what it returned, and what was expected.
    """
    if not isinstance(answers, Sequence) or isinstance(answers, str | bytes):
        raise ProtocolError(
            f"{component} returned {describe_value(answers)}; expected a list of {n} {noun}, one "
            "for each request, in their order"
        )
    if len(answers) != n:
        requests = "request" if n == 1 else "requests"
        raise ProtocolError(
            f"{component} gave {len(answers)} {noun} for {n} {requests}; it must give one for "
            "each, in their order"
        )
    if expected is not None:
        for number, answer in enumerate(answers, 1):
            check_struct(f"{component}, answer {number} of {n}", answer, expected)
    return answers


def check_struct(place: str, value: object, expected: type[Any]) -> None:
    """Raise ProtocolError if the value is no such Struct, or one of its fields has another type."""
    name = f"trueground.{expected.__name__}"
    if not isinstance(value, expected):
        raise ProtocolError(f"{place}: found {describe_value(value)}; expected {name}")
    try:
        msgspec.convert(msgspec.structs.asdict(value), expected)
    except msgspec.ValidationError as error:
        raise ProtocolError(f"{place}: {_describe_invalid(name, value, str(error))}") from None


def _describe_invalid(name: str, value: object, error: str) -> str:
    """Say which field of a Struct has which type, and which it may have."""
    match = _INVALID.match(error)
    if match is None:
        return f"this {name} is not valid: {error}"
    expected = match["expected"].replace(" | ", " or ").replace("null", "None")
    expected = expected.replace("array", "tuple")
    field = match["field"]
    found = describe_value(getattr(value, field)) if hasattr(value, field) else match["found"]
    return f"`{field}` of this {name} is {found}; expected {expected}"
