"""Asking about equal things once, and about what fails alone."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext
from typing import TypeVar

from trueground.errors import ProtocolError, fails_alone
from trueground.net.redact import raised

Q = TypeVar("Q", bound=Hashable)
A = TypeVar("A")
Ask = Callable[[Sequence[Q]], Sequence[A]]


def each_once(
    who: str,
    what: str,
    ask: Ask[Q, A],
    requests: Sequence[Q],
    lost: Callable[[str], A],
    known: dict[Q, A] | None = None,
) -> tuple[list[A], list[tuple[Q, A]]]:
    """The answer to each request, in their order, and every request asked now with its answer.

    Equal requests share one answer, and those in `known`, which takes all others, are not asked
    again. Where `ask`, a method of the part `who`, raises, the requests are halved until the one is
    found that it fails on; this one's answer is `lost(reason)`. ProtocolError where it gives
    another number of `what`.
    """
    known = {} if known is None else known
    asked = [request for request in dict.fromkeys(requests) if request not in known]

    def answers(some: Sequence[Q]) -> Sequence[A]:
        try:
            given = ask(some)
        except BaseException as error:
            if not fails_alone(error):
                raise
            if len(some) == 1:
                return [lost(f"{who} failed: {raised(error)}")]
        else:
            if len(given) != len(some):
                raise ProtocolError(
                    f"{who} gave {len(given)} {what} for {len(some)} requests; it must give one "
                    "for each, in their order"
                )
            return given
        middle = len(some) // 2
        # What a language model has replied so far is paid for.
        with getattr(getattr(ask, "__self__", None), "again", nullcontext)():
            return [*answers(some[:middle]), *answers(some[middle:])]

    if asked:
        known.update(zip(asked, answers(asked), strict=True))
    return [known[request] for request in requests], [(one, known[one]) for one in asked]
