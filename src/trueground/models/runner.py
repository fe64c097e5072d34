"""Send requests to a model: many at once, each paid for once.

Runs, builds and components that ask a model use the same runner. What they keep of the replies
differs: a run appends them to its log, a build stores them in its folder, a judge keeps none. They
say so in a `ReplyStore`. All of them share the response cache.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import chain, islice
from typing import NamedTuple

from trueground.components import check_struct
from trueground.errors import RunInterrupted, UnreachableError, fails_alone
from trueground.models.base import (
    ChatModel,
    ChatRequest,
    Reply,
)
from trueground.models.reply_cache import cache_reply, load_cached_reply
from trueground.net import ResponseCache, raised
from trueground.types import Status, Usage

# After this many calls in a row that don't reach the model, the rest won't either.
MAX_LOST_IN_A_ROW = 20
# With fewer refused requests than this, the refusals may concern these requests only.
MIN_REFUSED = 3
# For calls under way when the time limit is reached: they are as good as paid.
GRACE_SECONDS = 30.0
_CACHE_HIT = Usage(cache_hits=1)


class ModelRequest(NamedTuple):
    """One request to a model; `id` and `prompt_sha256` are for the store of the replies.

    `key` is its `cache_key`, if that is known already.
    """

    request: ChatRequest
    id: str = ""
    prompt_sha256: str = ""
    key: str | None = None


class ReplySlot(NamedTuple):
    """Where a reply belongs: the item, the hash of its prompt, and its key.

    The key is that of the response cache and of stores by key; None if the reply is in neither.
    """

    key: str | None
    id: str = ""
    prompt_sha256: str = ""


class ReceivedReply(NamedTuple):
    """A reply, and whether it came from the response cache."""

    reply: Reply
    is_cached: bool = False


class ReplyStore:
    """What a run or build keeps of replies, in addition to the response cache; here nothing."""

    needs_key = False

    def load(self, slot: ReplySlot) -> Reply | None:
        """Return the reply that is kept; None if the request must be sent."""
        return None

    def keep(
        self, slot: ReplySlot, reply: Reply, seconds: float | None, *, is_cached: bool
    ) -> None:
        """Keep a reply before it is used.

        Args:
            slot: Where it belongs.
            reply: The reply, normalized.
            seconds: How long the call took; None if no call was made.
            is_cached: Whether the reply came from the response cache.

        Raises:
            WriteError: It can't be written. The runner then ends.
        """

    def load_logprobs(self, key: str) -> list[float] | None:
        """Return the log-probabilities kept under the key; None if the text must be scored."""
        return None

    def keep_logprobs(self, key: str, logprobs: list[float]) -> None:
        """Keep log-probabilities before they are used. Raises WriteError."""


class InFlight:
    """Equal requests wait for each other: the second finds what the first has kept."""

    def __init__(self) -> None:
        self._under_way: dict[str, asyncio.Event] = {}

    @asynccontextmanager
    async def turn(self, key: str | None) -> AsyncIterator[None]:
        """Wait until no request with the key is under way. None never waits.

        Look for a kept reply inside: it may have arrived meanwhile.
        """
        if key is None:
            yield
            return
        while key in self._under_way:
            await self._under_way[key].wait()
        arrived = self._under_way[key] = asyncio.Event()
        try:
            yield
        finally:
            del self._under_way[key]
            arrived.set()


class Reachability:
    """Whether any call has reached the model, and how many in a row have not."""

    def __init__(self, model: ChatModel, advice: str, tolerates_first: bool) -> None:
        self.workers = model.concurrency
        self.tolerates_first = tolerates_first
        self._model = model
        self._advice = advice
        self._under_way = 0
        self._reached = False
        self._lost_in_a_row = 0
        self._last = ""
        self._arrival = asyncio.Event()

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Surround a call, and the keeping of its reply."""
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            self._arrival.set()

    async def check(self, reply: Reply) -> None:
        """Raise UnreachableError if no call reaches the model, or no longer does."""
        if reply.finish_reason != Reply.UNREACHABLE:
            self._reached, self._lost_in_a_row = True, 0
            return
        self._lost_in_a_row += 1
        self._last = str(reply.error)
        is_few = max(self._lost_in_a_row, self.workers) < MIN_REFUSED
        if self.tolerates_first and reply.calls and not self._reached and is_few:
            return
        while not self._reached and self._under_way:  # one of the others may get through
            self._arrival.clear()
            await self._arrival.wait()
        if not self._reached or self._lost_in_a_row >= MAX_LOST_IN_A_ROW + self.workers:
            raise self._error()

    def check_at_end(self) -> None:
        """Raise UnreachableError if requests were sent and none reached the model."""
        if self.tolerates_first and self._last and not self._reached:
            raise self._error()

    def _error(self) -> UnreachableError:
        return UnreachableError(
            f"{self._model.name} cannot be reached: {self._last}. {self._advice}"
        )


class RequestRunner:
    """Sends requests to one model, within its limit of calls at once. Belongs to one event loop.

    A call that fails gives a Reply with a status and a reason. Equal requests are sent once, if
    their replies are kept. A reply is kept before anything else is done with it, so that canceling
    the runner loses no reply that has arrived.

    `usage` is what the requests have cost, `first_error` why the first failed call gave no reply.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        advice: str,
        cache: ResponseCache | None = None,
        store: ReplyStore | None = None,
        time_limit: float | None = None,
        tolerates_first: bool = False,
    ) -> None:
        """Make a runner.

        Args:
            model: The model.
            advice: The last sentence of the error for a model that can't be reached.
            cache: The response cache; None if replies are not cached.
            store: What else keeps replies.
            time_limit: Seconds from now after which no request is sent.
            tolerates_first: Whether `run_all` goes on after the first refusals.
        """
        self.model = model
        self.usage = Usage()
        self.first_error: str | None = None
        self._reachability = Reachability(model, advice, tolerates_first)
        self._free = asyncio.Semaphore(model.concurrency)
        self._ends = None if time_limit is None else time.monotonic() + time_limit
        self._is_out_of_time = False
        self.in_flight = InFlight()  # shared by runners whose requests may be equal
        self.attach(cache, store)

    def attach(self, cache: ResponseCache | None, store: ReplyStore | None = None) -> None:
        """Use this cache and store from now on."""
        self._cache = cache if self.model.cacheable else None
        self._store = store or ReplyStore()
        self._needs_key = self.model.cacheable and (cache is not None or self._store.needs_key)

    async def run_all(
        self,
        requests: Iterator[ModelRequest],
        take: Callable[[ReplySlot, Reply], None] | None = None,
    ) -> None:
        """Send all requests, many at once, and give each reply to `take`.

        Raises:
            UnreachableError: No request reaches the model.
            RunInterrupted: The time limit is reached.
        """
        self._reachability.workers = 0
        error: BaseException | None = None
        try:
            async with asyncio.TaskGroup() as workers:
                # Each starts with a request, so that there are never more workers than requests.
                for first in islice(requests, self.model.concurrency):
                    workers.create_task(self._work(chain((first,), requests), take))
                    self._reachability.workers += 1
        except BaseExceptionGroup as group:
            error = group.exceptions[0]  # what ended the others
        if error is not None:
            raise error
        if self._is_out_of_time:
            raise _time_limit_error()
        self._reachability.check_at_end()

    async def run(
        self,
        request: ModelRequest,
        *,
        use_cache: bool = True,
        is_obsolete: Callable[[], bool] | None = None,
    ) -> ReceivedReply | None:
        """Return the reply to one request, from what is kept or from the model.

        Args:
            request: The request.
            use_cache: Whether the reply may come from the response cache.
            is_obsolete: Called when the request's turn has come; if True, it isn't sent.

        Returns:
            The reply; None if the request wasn't sent because it is obsolete or the time is over.

        Raises:
            UnreachableError: No request reaches the model.
        """
        return await self._run(request, self.slot(request), use_cache, is_obsolete)

    def slot(self, request: ModelRequest) -> ReplySlot:
        """Return where the reply to a request belongs."""
        key = None
        if self._needs_key:
            key = request.key or request.request.cache_key(self.model.signature)
        return ReplySlot(key, request.id, request.prompt_sha256)

    def take(self, slot: ReplySlot, reply: Reply, seconds: float) -> Reply:
        """Keep and return a reply that a call has just given."""
        reply = reply.normalized()
        self.usage += _usage_of(reply)
        if reply.status is Status.ERROR and self.first_error is None:
            self.first_error = reply.error
        self._store.keep(slot, reply, seconds, is_cached=False)
        if self._cache is not None and slot.key is not None:
            cache_reply(self._cache, slot.key, self.model.name, reply)
        return reply

    def take_kept(self, slot: ReplySlot, *, use_cache: bool = True) -> ReceivedReply | None:
        """Return the reply that the store or the cache has, if any."""
        reply = self._store.load(slot)
        is_cached = False
        if reply is None and use_cache and self._cache is not None and slot.key is not None:
            reply = load_cached_reply(self._cache, slot.key)
            is_cached = True
        if reply is None:
            return None
        self.usage += _CACHE_HIT
        self._store.keep(slot, reply, None, is_cached=is_cached)
        return ReceivedReply(reply, is_cached)

    def restore_cache(self, request: ModelRequest, load: Callable[[], Reply | None]) -> None:
        """Cache a reply of an earlier session, which may have been killed before it did."""
        slot = self.slot(request)
        if self._cache is None or slot.key is None or self._cache.get(slot.key) is not None:
            return
        if (reply := load()) is not None:
            cache_reply(self._cache, slot.key, self.model.name, reply)

    def forgive(self, failed: int) -> None:
        """Leave failed requests out of the usage: the caller has another way."""
        if failed:
            self.usage += Usage(failed=-failed)
            if not self.usage.failed:
                self.first_error = None

    async def _work(
        self,
        requests: Iterator[ModelRequest],
        take: Callable[[ReplySlot, Reply], None] | None,
    ) -> None:
        for request in requests:
            slot = self.slot(request)
            received = await self._run(request, slot, True, None, take)
            if received is None:
                return

    async def _run(
        self,
        request: ModelRequest,
        slot: ReplySlot,
        use_cache: bool,
        is_obsolete: Callable[[], bool] | None,
        take: Callable[[ReplySlot, Reply], None] | None = None,
    ) -> ReceivedReply | None:
        async with self.in_flight.turn(slot.key):
            received = self.take_kept(slot, use_cache=use_cache)
            is_kept = received is not None
            if received is None:
                reply = await self._send(request.request, slot, is_obsolete)
                if reply is None:
                    return None
                received = ReceivedReply(reply)
        if take is not None:
            take(slot, received.reply)
        if is_kept:
            await asyncio.sleep(0)  # many in a row must not delay everything else
        else:
            await self._reachability.check(received.reply)
        return received

    async def _send(
        self, request: ChatRequest, slot: ReplySlot, is_obsolete: Callable[[], bool] | None
    ) -> Reply | None:
        """Call the model and keep its reply: in the store, then in the cache."""
        async with self._free:
            if is_obsolete is not None and is_obsolete():
                return None
            if self._ends is not None and time.monotonic() >= self._ends:
                self._is_out_of_time = True
                return None
            left = None if self._ends is None else self._ends + GRACE_SECONDS - time.monotonic()
            start = time.perf_counter()
            with self._reachability.under_way():
                try:
                    async with asyncio.timeout(left) as limit:
                        reply = await self._call(request)
                except TimeoutError:
                    if limit.expired():
                        raise _time_limit_error() from None
                    raise
                return self.take(slot, reply, time.perf_counter() - start)

    async def _call(self, request: ChatRequest) -> Reply:
        """Return the model's reply; an unforeseen error of its code fails this call only.

        Raises ProtocolError if the model returns anything but a Reply.
        """
        try:
            reply = await self.model.generate(request)
            check_struct(f"the model {self.model.name!r}", reply, Reply)
            return reply
        except BaseException as error:
            if not fails_alone(error):
                raise
            return Reply(status=Status.ERROR, error=f"unforeseen {raised(error)}")


def _usage_of(reply: Reply) -> Usage:
    """Return what a reply from the model has cost."""
    tokens = reply.usage
    failed = int(reply.status is Status.ERROR)
    return Usage(reply.calls, tokens.tokens_in, tokens.tokens_out, failed=failed)


def _time_limit_error() -> RunInterrupted:
    return RunInterrupted(
        "the time limit is reached; what was answered is kept. Run the same command to go on"
    )
