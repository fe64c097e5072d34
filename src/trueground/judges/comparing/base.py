"""What a comparer is, and how requests reach it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from trueground.errors import ProtocolError
from trueground.types import Comparison, ComparisonRequest


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


def compare(comparer: Comparer, requests: Sequence[ComparisonRequest]) -> list[Comparison]:
    """Ask every different request once; one comparison for each request, in their order.

    Raises ProtocolError where the comparer gives another number of comparisons.
    """
    places: dict[ComparisonRequest, int] = {}
    order = [places.setdefault(request, len(places)) for request in requests]
    asked = list(places)
    given = comparer.compare(asked) if asked else []
    if len(given) != len(asked):
        raise ProtocolError(
            f"the comparer {comparer.name!r} gave {len(given)} comparisons for {len(asked)} "
            "requests; it must give one for each, in their order"
        )
    return [given[place] for place in order]
