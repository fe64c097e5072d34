"""Asking for a text that must pass checks: told once what is wrong, then the item falls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from trueground.builders.ask import Ask
from trueground.builders.checks import other_language
from trueground.builders.fallen import Fallen
from trueground.models.base import Message

T = TypeVar("T", bound=msgspec.Struct)


async def checked(
    ask: Ask,
    role: str,
    messages: Sequence[Message],
    kind: type[T],
    check: Callable[[T], None],
) -> T:
    """The object, once `check` does not raise Fallen; the model is told what is wrong, once.

    Raises the Fallen of the second reply's check, or one of ask.REASONS.
    """
    last: list[Fallen] = []

    def see(made: T) -> str | None:
        last.clear()
        try:
            check(made)
        except Fallen as fallen:
            last.append(fallen)
            return f"{fallen.reason.replace('_', ' ')}: {fallen.detail}"
        return None

    try:
        return await ask.object(role, messages, kind, see=see)
    except Fallen as fallen:
        if (
            last
            and fallen.reason == "wrong_fields"
            and fallen.detail.startswith(last[0].reason.replace("_", " "))
        ):
            raise last[0] from None
        raise


def see_language(text: str, original: str, wanted: bool) -> None:
    """The text is in the original's language, as far as can be told. Fallen: other_language."""
    found = other_language(text, original) if wanted else None
    if found is not None:
        raise Fallen("other_language", f"found {found}")
