"""All rows of a query: in pages, and for many things in parts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from itertools import count
from typing import Any

from trueground.errors import GraphError
from trueground.graph.endpoint.asking import SparqlEndpoint
from trueground.graph.endpoint.queries import SparqlQuery
from trueground.graph.endpoint.results import Solution
from trueground.graph.sparql.terms import is_iri


class Pages:
    """Asks an endpoint for `size` rows at most at once."""

    def __init__(self, endpoint: SparqlEndpoint, size: int) -> None:
        self._endpoint, self._size = endpoint, size

    async def rows(self, query: SparqlQuery) -> list[Solution]:
        """All rows of a query, page by page until one is short. GraphError, UnreachableError."""
        found: list[Solution] = []
        last: list[Solution] = []
        for number in count():
            rows = (await self._endpoint.ask(query.page(self._size, number))).solutions
            if any(name not in row for row in rows for name in query.gives):
                asked = " ".join(f"?{name}" for name in query.gives)
                raise self._odd(f"rows without some of {asked}")
            if number and rows and rows == last:
                raise self._odd("one page of rows twice, so it passes over OFFSET")
            found += rows
            # One that passes over LIMIT has given all.
            if len(rows) != self._size:
                break
            last = rows
        return found

    def _odd(self, what: str) -> GraphError:
        return GraphError(
            f"the SPARQL endpoint {self._endpoint.shown} gave {what}; expected what SPARQL 1.1 "
            "says. Look whether it is an endpoint, or load its data: trueground graph load"
        )

    async def in_parts(
        self, items: Iterable[str], make: Callable[[list[str]], SparqlQuery], size: int
    ) -> list[Solution]:
        """The rows of a query that is made for so many of the items at a time."""
        all_ = list(dict.fromkeys(items))
        parts = [all_[at : at + size] for at in range(0, len(all_), size)]
        return await _together([self.rows(make(part)) for part in parts])

    async def about(
        self, things: Iterable[str], make: Callable[[list[str]], SparqlQuery], size: int
    ) -> list[Solution]:
        """The same for addresses; what only looks like one, nothing is said of."""
        return await self.in_parts([one for one in things if is_iri(one)], make, size)


async def _together(parts: Sequence[Coroutine[Any, Any, list[Solution]]]) -> list[Solution]:
    """The rows of all, in their order; the first failure ends the others."""
    tasks: list[asyncio.Task[list[Solution]]] = []
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(part) for part in parts]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [row for task in tasks for row in task.result()]
