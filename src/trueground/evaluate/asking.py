"""Ask a model all that has not been answered yet, many calls at a time, each reply written at once.

Order of writing for each reply: the run's log first, then the cache. A kill between the two costs
nothing, since the log is what a run resumes from.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import NamedTuple

from trueground.errors import RunInterrupted
from trueground.models.base import ChatModel, ChatRequest, Reply, request_key, tidy
from trueground.models.calls import Calls, InFlight, recall, remember
from trueground.net.cache import ResponseCache
from trueground.runs.responses import Response, ResponseLog

_ADVICE = "What was answered is kept; fix the cause and run the same command again to go on"
_GRACE_S = 30.0  # for calls under way when the time is over: they are as good as paid


class Call(NamedTuple):
    """One call to make: for which item, what is asked, and the hash of the prompt."""

    id: str
    request: ChatRequest
    prompt: str


class Slot(NamedTuple):
    """Where a reply goes: the item, the hash of its prompt, and its key in the cache if any."""

    id: str
    prompt: str
    key: str | None


class Asking:
    """One session of asking: takes calls from an iterator and leaves replies in the log."""

    def __init__(
        self,
        model: ChatModel,
        log: ResponseLog,
        cache: ResponseCache | None,
        tick: Callable[[], None],
        time_limit: float | None = None,
    ) -> None:
        """`tick` is called for every reply; `time_limit` is in seconds from now."""
        self._model = model
        self._log = log
        self._cache = cache if model.cacheable else None
        self._tick = tick
        self._ends = None if time_limit is None else time.monotonic() + time_limit
        self._time_is_over = False
        self._calls = Calls(model)
        self._in_flight = InFlight()
        # A model that is a file of replies has them by the ids of the items.
        self._reply_for: Callable[[str], Reply | None] = getattr(
            model, "reply_for", lambda _id: None
        )

    async def ask_all(self, calls: Iterator[Call]) -> None:
        """Work off all calls. UnreachableError where none gets through, RunInterrupted at the end
        of the time; what was answered is in the log either way.
        """
        failed: BaseException | None = None
        try:
            async with asyncio.TaskGroup() as workers:
                # Each begins with a call in hand, so that there are never more than calls.
                for first in islice(calls, self._model.concurrency):
                    workers.create_task(self._work(chain((first,), calls)))
                    self._calls.workers += 1
        except BaseExceptionGroup as group:
            failed = group.exceptions[0]  # what ended the others
        if failed is not None:
            raise failed
        if self._time_is_over:
            raise _out_of_time()
        self._calls.check_any_reached(_ADVICE)

    async def _work(self, calls: Iterator[Call]) -> None:
        for call in calls:
            slot = self.slot(call)
            reply = None
            async with self._in_flight.turn(slot.key):
                if (on_file := self._reply_for(call.id)) is not None:
                    self._write(slot, on_file, None, cached=False)
                elif not self.take_cached(slot):
                    if self._ends is not None and time.monotonic() >= self._ends:
                        self._time_is_over = True
                        return
                    reply = await self._ask(call.request, slot)
            if reply is not None:
                await self._calls.check_reached(reply, _ADVICE, more=True)
            else:
                await asyncio.sleep(0)  # many in a row must not keep all else from going on

    async def _ask(self, request: ChatRequest, slot: Slot) -> Reply:
        """Make the call and keep its reply: in the log, then in the cache."""
        left = None if self._ends is None else self._ends + _GRACE_S - time.monotonic()
        start = time.perf_counter()
        with self._calls.under_way():
            try:
                async with asyncio.timeout(left) as limit:
                    reply = await self._calls.reply(request)
                self.take(slot, reply, time.perf_counter() - start)
            except TimeoutError:
                if limit.expired():
                    raise _out_of_time() from None
                raise
        return reply

    def restore(self, call: Call) -> None:
        """Cache an answer of an earlier session, which may have died before it was cached."""
        slot = self.slot(call)
        if self._cache is None or slot.key is None or self._cache.get(slot.key) is not None:
            return
        response = self._log.get(call.id)
        if response is not None:
            remember(self._cache, slot.key, self._model.name, response.reply())

    def slot(self, call: Call) -> Slot:
        """Where the reply to a call goes."""
        key = request_key(self._model.signature, call.request) if self._cache else None
        return Slot(call.id, call.prompt, key)

    def take(self, slot: Slot, reply: Reply, latency_s: float) -> None:
        """Log and cache a reply that was called for now."""
        reply = tidy(reply)
        self._write(slot, reply, latency_s, cached=False)
        if self._cache is not None and slot.key is not None:
            remember(self._cache, slot.key, self._model.name, reply)

    def take_cached(self, slot: Slot) -> bool:
        """Log the reply that the cache has, if any."""
        if self._cache is None or slot.key is None:
            return False
        reply = recall(self._cache, slot.key)
        if reply is not None:
            self._write(slot, reply, None, cached=True)
        return reply is not None

    def _write(self, slot: Slot, reply: Reply, latency_s: float | None, *, cached: bool) -> None:
        self._log.append(Response.of(slot.id, slot.prompt, reply, latency_s, cached))
        self._tick()


def _out_of_time() -> RunInterrupted:
    return RunInterrupted(
        "the time limit is reached; what was answered is kept. Run the same command to go on"
    )
