"""Calls to one model, many at a time: what a fault is, and when nobody is there.

Runs (`evaluate.asking`) and judges (`models.asker`) keep replies in ways of their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from trueground.errors import UnreachableError, fails_alone
from trueground.models.base import UNREACHABLE, ChatModel, ChatRequest, Reply
from trueground.net.redact import raised
from trueground.types import Status

# So many calls in a row without reaching the model, and the rest would fare no better.
_GIVE_UP_AFTER = 20
# So many items at least are refused before an endpoint counts as one that takes none.
_FIRST_REFUSED = 3


class Calls:
    """Which calls are under way and whether any has got through; `workers` make them."""

    def __init__(self, model: ChatModel) -> None:
        self.workers = 0
        self._model = model
        self._under_way = 0
        self._reached = False
        self._lost_in_a_row = 0
        self._last = ""
        self._arrival = asyncio.Event()

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Around a call, and the keeping of its reply."""
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            self._arrival.set()

    async def reply(self, request: ChatRequest) -> Reply:
        """The model's reply; a fault of its code that nobody foresaw fails this call alone."""
        try:
            return await self._model.generate(request)
        except BaseException as error:
            if not fails_alone(error):
                raise
            return Reply(status=Status.ERROR, error=f"unforeseen {raised(error)}")

    async def check_reached(self, reply: Reply, advice: str, more: bool = False) -> None:
        """Stop where the model cannot be reached: if nothing gets through, or no longer does.

        With `more` to ask, some refusals at the beginning stop nothing; `check_any_reached` follows
        at the end. UnreachableError, which ends with `advice`.
        """
        if reply.finish_reason != UNREACHABLE:
            self._reached, self._lost_in_a_row = True, 0
            return
        self._lost_in_a_row += 1
        self._last = str(reply.error)
        few = max(self._lost_in_a_row, self.workers) < _FIRST_REFUSED
        if more and reply.calls and not self._reached and few:
            return
        while not self._reached and self._under_way:  # one of the others may get through
            self._arrival.clear()
            await self._arrival.wait()
        if not self._reached or self._lost_in_a_row >= _GIVE_UP_AFTER + self.workers:
            raise self._unreachable(advice)

    def check_any_reached(self, advice: str) -> None:
        """UnreachableError where all calls were lost."""
        if self._last and not self._reached:
            raise self._unreachable(advice)

    def _unreachable(self, advice: str) -> UnreachableError:
        return UnreachableError(f"{self._model.name} cannot be reached: {self._last}. {advice}")
