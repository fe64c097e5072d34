"""What a comparer is, and how requests reach it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from trueground.errors import ProtocolError
from trueground.judges.base import each_once
from trueground.types import Comparison, ComparisonRequest, Status


@runtime_checkable
class Comparer(Protocol):
    """Compares responses with their references or contexts, by a model.

    `signature` names the model and everything that can change a value. `values` are the names of
    the values that a scored comparison has. Nothing heavy is loaded before the first request. A
    comparer that asks a language model also has `prompts` and `spent`, one whose results are kept
    on disk has `problem`, and all have `close()`, as judges do.
    """

    @property
    def name(self) -> str: ...

    @property
    def values(self) -> tuple[str, ...]: ...

    @property
    def signature(self) -> str: ...

    def compare(self, requests: Sequence[ComparisonRequest]) -> list[Comparison]:
        """Return one comparison for each request, in their order."""
        ...

    def close(self) -> None:
        """Give memory and connections back; asking again opens them anew."""
        ...


def compare(
    comparer: Comparer,
    requests: Sequence[ComparisonRequest],
    known: dict[ComparisonRequest, Comparison] | None = None,
) -> list[Comparison]:
    """Ask every different request once; one comparison for each request, in their order.

    Those in `known`, which takes the others, are not asked again. A request on which the comparer
    fails has the status `error`. Raises ProtocolError where the comparer gives another number of
    comparisons, or a scored one with other values than it declares.
    """

    def lost(reason: str) -> Comparison:
        return Comparison(status=Status.ERROR, reason=reason)

    who = f"the comparer {comparer.name!r}"
    comparisons, different = each_once(who, "comparisons", comparer.compare, requests, lost, known)
    for _, found in different:
        expected = set(comparer.values) if found.status is Status.SCORED else set()
        if set(found.values) != expected:
            raise ProtocolError(
                f"{who} gave the values {sorted(found.values)} with the status {found.status}; "
                f"it must give {sorted(expected)}"
            )
    return comparisons
