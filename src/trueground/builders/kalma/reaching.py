"""A graph that never answers ends the build, before every row has rejected for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from trueground.builders.base import SourceStep
from trueground.builders.kalma.items import SourcePair
from trueground.builders.rejected import Rejected
from trueground.errors import UnreachableError

FIRST = 5  # pairs


class Reach:
    """Whether the graph has answered at all.

    Only the first pairs of the source are looked at: a later session that asks again for nothing
    but what failed before may find no answer either, and the graph is well.
    """

    def __init__(self) -> None:
        self._first: frozenset[str] = frozenset()
        self._failed: set[str] = set()
        self._answered = False

    def watched(self, source: SourceStep[SourcePair]) -> SourceStep[SourcePair]:
        """The source, whose first pairs will be known."""

        def read() -> Iterator[SourcePair | Rejected]:
            rows = list(source.read())
            pairs = [one.id for one in rows if isinstance(one, SourcePair)]
            self._first = frozenset(pairs[:FIRST])
            return iter(rows)

        return replace(source, read=read)

    def answered(self) -> None:
        """The graph has said something, and were it that it knows nobody."""
        self._answered = True

    def failed(self, pair: SourcePair, graph: str, detail: str) -> None:
        """It could not answer for a pair. UnreachableError: for none of the first."""
        self._failed.add(pair.id)
        if self._answered or not self._first or not self._first <= self._failed:
            return
        n = len(self._first)
        raise UnreachableError(
            f"the graph {graph} could not answer for the first {f'{n} pairs' if n > 1 else 'pair'},"
            f" and for no other ({detail}). Nothing was asked of a model; see that the address in "
            "--graph answers, and run the same command again"
        )
