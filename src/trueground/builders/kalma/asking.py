"""Asking for a text that must pass checks: told once what is wrong, then the item falls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from trueground.builders.ask import Ask
from trueground.builders.checks import odd_form, other_language
from trueground.builders.rejected import Rejected
from trueground.models.base import Message

T = TypeVar("T", bound=msgspec.Struct)
RULES = 2  # part of what outcomes are kept under: a change of any check counts here


async def checked(
    ask: Ask,
    role: str,
    messages: Sequence[Message],
    kind: type[T],
    check: Callable[[T], None],
) -> T:
    """The object, once `check` does not raise Rejected; the model is told what is wrong, once.

    Raises the Rejected of the second reply's check, with the reply as what was made, or one of
    rejected.REASONS.
    """

    def check_and_keep(made: T) -> None:
        try:
            check(made)
        except Rejected as rejected:
            refused = msgspec.to_builtins(made)
            raise Rejected(rejected.reason, rejected.detail, content=refused) from None

    return await ask.object(role, messages, kind, check=check_and_keep)


def check_form(text: str, shown: str) -> None:
    """The text holds nothing odd that was not shown. Rejected: one of checks.forms.REASONS."""
    if odd := odd_form(text, shown):
        raise Rejected(*odd)


def check_numbers(field: str, numbers: Sequence[int], count: int) -> str | None:
    """What is wrong with numbers of things that were told, from 1, in words."""
    wrong = next((number for number in numbers if not 1 <= number <= count), None)
    if wrong is None:
        return None
    return f"{field}: found {wrong}; expected numbers from 1 to {count}"


def check_language(text: str, original: str, wanted: bool) -> None:
    """The text is in the original's language, as far as can be told. Rejected: other_language."""
    found = other_language(text, original) if wanted else None
    if found is not None:
        raise Rejected("other_language", f"found {found}")
