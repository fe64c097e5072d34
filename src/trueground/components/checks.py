"""Checks that a user's component follows its protocol: members and types of answers.

Judges, decomposers, raters, comparers, models and metrics are checked when they are passed in and
when they answer. An error then names the component, what it returned and what was expected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any, TypeVar

import msgspec

from trueground.errors import ProtocolError, UsageError

T = TypeVar("T")
# The message of msgspec for a field with a wrong type.
_INVALID = re.compile(
    r"Expected `(?P<expected>[^`]*)`, got `(?P<actual>[^`]*)` - at `\$\.(?P<field>\w+)"
)
MAX_VALUE_CHARS = 60  # of a value in a message
_MEMBER_CHECKS: dict[str, Any] = {
    "text": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "tuple": lambda value: isinstance(value, tuple),
    "method": callable,
}


def describe_value(value: object) -> str:
    """Return the type of a value, and the value if it is short: ``bool (True)``."""
    kind = type(value).__name__
    package = type(value).__module__.partition(".")[0]
    if package not in ("builtins", "__main__"):
        kind = f"{package}.{kind}"
    text = repr(value)
    if text.startswith("<") or len(text) > MAX_VALUE_CHARS or text == kind:
        return kind
    return f"{kind} ({text})"


def check_members(kind: str, component: object, members: Mapping[str, str]) -> None:
    """Raise UsageError if a component lacks a member of its protocol.

    Args:
        kind: What the component is, such as "judge".
        component: The object that the user passed, or that a plug-in created.
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
    member_names = [f"{member}()" if members[member] == "method" else member for member in members]
    name = type(component).__name__
    for member, expected in members.items():
        if not hasattr(component, member):
            raise UsageError(
                f"the {kind} {name} has no {member!r}; a {kind} has {', '.join(member_names)}"
            )
        value = getattr(component, member)
        if not _MEMBER_CHECKS[expected](value):
            raise UsageError(
                f"the {kind} {name}: {member!r} is {describe_value(value)}; expected a {expected}"
            )


def check_answers(
    component: str, noun: str, answers: object, n: int, expected: type[T] | None = None
) -> Sequence[T]:
    """Return the answers of a component if they are a list of `n` valid answers.

    Args:
        component: Name of the component in messages, such as "the judge 'mine'".
        noun: What the answers are, in the plural: "verdicts".
        answers: What the component returned.
        n: How many requests it got.
        expected: The Struct that each answer has to be. None: the type isn't checked.

    Raises:
        ProtocolError: The answers aren't a list, their number is wrong, or one has another type.
            The message names the component, what it returned, and what was expected.
    """
    if not isinstance(answers, Sequence) or isinstance(answers, str | bytes):
        raise ProtocolError(
            f"{component} returned {describe_value(answers)}; expected a list of {n} {noun}, one "
            "for each request, in their order"
        )
    if len(answers) != n:
        requests = "request" if n == 1 else "requests"
        raise ProtocolError(
            f"{component} returned {len(answers)} {noun} for {n} {requests}; expected one for "
            "each, in their order"
        )
    if expected is not None:
        for number, answer in enumerate(answers, 1):
            check_struct(f"{component}, answer {number} of {n}", answer, expected)
    return answers


def check_struct(location: str, value: object, expected: type[Any]) -> None:
    """Raise ProtocolError if a value isn't the expected Struct, or a field has a wrong type."""
    name = f"trueground.{expected.__name__}"
    if not isinstance(value, expected):
        raise ProtocolError(f"{location}: found {describe_value(value)}; expected {name}")
    try:
        msgspec.convert(msgspec.structs.asdict(value), expected)
    except msgspec.ValidationError as error:
        raise ProtocolError(f"{location}: {_describe_invalid(name, value, str(error))}") from None


def _describe_invalid(name: str, value: object, error: str) -> str:
    """Return which field of a Struct has a wrong type, and which types it may have."""
    match = _INVALID.match(error)
    if match is None:
        return f"this {name} is not valid: {error}"
    expected = match["expected"].replace(" | ", " or ").replace("null", "None")
    expected = expected.replace("array", "tuple")
    field = match["field"]
    actual = describe_value(getattr(value, field)) if hasattr(value, field) else match["actual"]
    return f"`{field}` of this {name} is {actual}; expected {expected}"
