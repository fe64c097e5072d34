"""Asking about equal things once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from trueground.errors import ProtocolError

Q = TypeVar("Q", bound=Hashable)
A = TypeVar("A")


def each_once(
    who: str, what: str, ask: Callable[[Sequence[Q]], Sequence[A]], requests: Sequence[Q]
) -> tuple[list[A], list[tuple[Q, A]]]:
    """The answer to each request, in their order, and every different request with its answer.

    Equal requests share one answer. ProtocolError where `who` gives another number of `what`.
    """
    places: dict[Q, int] = {}
    order = [places.setdefault(request, len(places)) for request in requests]
    asked = list(places)
    given = ask(asked) if asked else []
    if len(given) != len(asked):
        raise ProtocolError(
            f"{who} gave {len(given)} {what} for {len(asked)} requests; it must give one for "
            "each, in their order"
        )
    return [given[place] for place in order], list(zip(asked, given, strict=True))
