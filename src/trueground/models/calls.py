"""Calls to one model: replies that are kept, equal calls, what a fault is; asking many at once.

Runs (`evaluate.questions`), builds and judges (`Asker`) keep replies in ways of their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager

import msgspec

from trueground.components.checks import check_struct
from trueground.components.specs import ComponentSpec
from trueground.errors import UnreachableError, UsageError, fails_alone
from trueground.loop import LoopThread
from trueground.models.base import (
    UNREACHABLE,
    ChatModel,
    ChatRequest,
    Params,
    Reply,
    request_key,
    tidy,
)
from trueground.models.options import OPTIONS, endpoint_options
from trueground.models.registry import make_model
from trueground.net.cache import ResponseCache, cache_path
from trueground.net.redact import raised
from trueground.types import Spent, Status

_KEPT = (None, Status.TRUNCATED)
# Not JSON: a log-probability may be minus infinity.
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Reply).decode
# So many calls in a row without reaching the model, and the rest would fare no better.
_GIVE_UP_AFTER = 20
# So many items at least are refused before an endpoint counts as one that takes none.
_FIRST_REFUSED = 3
# One word is enough, but models that think before they answer do so within the limit too.
MAX_TOKENS = 512
_SHOWN = 2_000  # characters of a reply in which nothing could be read
_HELD = 4_000  # replies


def recall(cache: ResponseCache, key: str) -> Reply | None:
    """The reply kept under the key; None if there is none that can be read."""
    value = cache.get(key)
    if value is None:
        return None
    try:
        reply = _decode(value)
    except msgspec.MsgspecError:
        # Asking again gives a good one, which takes its place.
        return None
    # What endpoints sent without a text was once kept as an empty answer: that is asked again.
    doubtful = not reply.text and reply.status is None and reply.finish_reason is not None
    return None if doubtful else reply


def remember(cache: ResponseCache, key: str, model: str, reply: Reply) -> None:
    """Keep a reply that is complete or truncated; one that failed may succeed the next time."""
    if reply.status in _KEPT:
        tokens = reply.usage.tokens_in + reply.usage.tokens_out
        cache.put(key, _encode(reply), model=model, tokens=tokens)


class InFlight:
    """Equal calls one after the other: who comes second finds what the first has kept."""

    def __init__(self) -> None:
        self._under_way: dict[str, asyncio.Event] = {}

    @asynccontextmanager
    async def turn(self, key: str | None) -> AsyncIterator[None]:
        """Wait until no call with the key is under way, and be the one that is. None never waits.

        Whoever has the turn looks first whether the reply is there by now.
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
        """The model's reply; a fault of its code that nobody foresaw fails this call alone.

        Raises ProtocolError if the model returns anything but a Reply.
        """
        try:
            reply = await self._model.generate(request)
            check_struct(f"the model {self._model.name!r}", reply, Reply)
            return reply
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
        if self._last and not self._reached:
            raise self._unreachable(advice)

    def _unreachable(self, advice: str) -> UnreachableError:
        return UnreachableError(f"{self._model.name} cannot be reached: {self._last}. {advice}")


def model_of(given: ComponentSpec) -> ChatModel:
    """The chat model that stands in `llm:MODEL(…)`. Raises UsageError."""
    if given.model is None:
        raise UsageError(
            f"the {given.kind} {given.name} needs a model; write {given.name}:MODEL, as in "
            f'"{given.name}:gpt-4o(base_url=https://host/v1,api_key_env=KEY)"'
        )
    return make_model(given.model, endpoint_options(given, f"the {given.kind} {given.name}"))


def shortened(reply: str, most: int = _SHOWN) -> str:
    """A raw reply for the evidence: what is too long to be read is cut, and says so."""
    if len(reply) <= most:
        return reply
    return f"{reply[:most]} … ({len(reply):,} characters in all)"


def describe_failure(reply: Reply, shown: str) -> str:
    """Why a reply with a status cannot be used; `shown` is what was too long for the model."""
    if reply.status is Status.TRUNCATED:
        return "the model's reply was cut off at the token limit"
    if reply.status is Status.TOO_LONG:
        return f"{shown} is too long for the model: {reply.error}"
    return f"the call failed: {reply.error}"


class Asker:
    """A model, an event loop of its own in a thread, and the response cache.

    The thread starts with the first question, so that it works inside a running event loop too. Not
    for use by several threads at once. One that nobody closes is closed when the process ends.
    """

    def __init__(self, model: ChatModel, *, cache: bool = True) -> None:
        """`cache` is False where nothing may be read from the response cache or kept there."""
        self.model = model
        self.spent = Spent()
        self.trouble: str | None = None  # why the first call that failed gave no reply
        self._cached = cache and model.cacheable
        self._caches: list[ResponseCache] = []  # the one that is open, if any
        self._calls = Calls(model)
        self._problem: str | None = None
        self._held: dict[str, Reply] = {}  # the last ones
        self._again = False
        caches = self._caches

        async def end() -> None:
            try:
                await model.close()
            finally:
                for one in caches:
                    one.close()

        self._loop = LoopThread("asker", end)

    @property
    def problem(self) -> str | None:
        """Why replies were no longer kept in the response cache; None where they were."""
        return self._problem or next((cache.problem for cache in self._caches), None)

    def ask(self, requests: Sequence[ChatRequest]) -> list[Reply]:
        """One reply for each request, in their order; equal requests are asked once.

        A call that fails is a Reply with a status. UnreachableError where nobody is reached.
        """
        keys = [request_key(self.model.signature, request) for request in requests]
        unique = dict(zip(keys, requests, strict=True))
        if not unique:
            return []
        if self._cached and not self._caches:
            self._caches.append(ResponseCache(cache_path()))
        replies = self._loop.run(self._ask_all(unique))
        return [replies[key] for key in keys]

    @contextmanager
    def again(self) -> Iterator[None]:
        """Within it the last replies are given once more: nothing is paid for that was just had."""
        before, self._again = self._again, True
        try:
            yield
        finally:
            self._again = before

    def forgive(self, failed: int) -> None:
        """Leave out so many failed calls: the caller had foreseen them, and has another way."""
        if failed:
            self.spent += Spent(failed=-failed)
            self.trouble = self.trouble if self.spent.failed else None

    def close(self) -> None:
        """Close the model and the cache; asking again opens them anew."""
        try:
            self._loop.close()
        finally:
            self._problem = self.problem
            self._caches.clear()

    async def _ask_all(self, unique: dict[str, ChatRequest]) -> dict[str, Reply]:
        replies: dict[str, Reply] = {}
        waiting = iter(unique.items())

        async def work() -> None:
            for key, request in waiting:
                replies[key] = await self._ask(key, request)

        self._calls.workers = min(self.model.concurrency, len(unique))
        try:
            async with asyncio.TaskGroup() as workers:
                for _ in range(self._calls.workers):
                    workers.create_task(work())
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None  # what ended the others
        return replies

    async def _ask(self, key: str, request: ChatRequest) -> Reply:
        if self._again and key in self._held:
            return self._held[key]
        cache = self._caches[0] if self._caches else None
        reply = recall(cache, key) if cache is not None else None
        if reply is not None:
            self._hold(key, reply)
            self.spent.cache_hits += 1
            await asyncio.sleep(0)  # many in a row must not keep an interrupt from being seen
            return reply
        with self._calls.under_way():
            reply = tidy(await self._calls.reply(request))
        self._hold(key, reply)
        failed = reply.status is Status.ERROR
        usage = reply.usage
        self.spent += Spent(reply.calls, usage.tokens_in, usage.tokens_out, failed=int(failed))
        if failed and self.trouble is None:
            self.trouble = reply.error
        if cache is not None:
            remember(cache, key, self.model.name, reply)
        kept_so_far = "Replies so far are cached; fix" if self._cached else "Fix"
        again = "the cause and run the same command again (`score` with --overwrite)"
        await self._calls.check_reached(reply, f"{kept_so_far} {again}")
        return reply

    def _hold(self, key: str, reply: Reply) -> None:
        self._held.pop(key, None)
        self._held[key] = reply
        if len(self._held) > _HELD:
            del self._held[next(iter(self._held))]


class Asks:
    """What a component `NAME:MODEL(option=value)` needs to ask a chat model.

    Put it before the component's own base class: `class LLMJudge(Asks, Judge)`.
    """

    in_one_process = True

    def __init__(
        self, given: ComponentSpec, options: Iterable[str] = (), max_tokens: int = MAX_TOKENS
    ) -> None:
        """`options` are known beside OPTIONS, temperature and max_tokens. Raises UsageError.

        Temperature is 0 unless it is given, and left to the model with `none`.
        """
        given.check((*OPTIONS, "temperature", "max_tokens", *options))
        none = given.options.get("temperature") == "none"
        self._params = Params(
            temperature=None if none else given.number("temperature", 0, 0),
            max_tokens=given.whole("max_tokens", max_tokens),
        )
        self._asker = Asker(model_of(given), cache=given.cache)

    @property
    def spent(self) -> Spent:
        """What asking has cost."""
        return self._asker.spent

    @property
    def trouble(self) -> str | None:
        """Why the first call that failed gave no reply."""
        return self._asker.trouble

    @property
    def problem(self) -> str | None:
        """Why replies were no longer kept in the response cache; None where they were."""
        return self._asker.problem

    def ask(self, requests: Sequence[ChatRequest]) -> list[Reply]:
        """Return one reply for each request, see `Asker.ask`."""
        return self._asker.ask(requests)

    def again(self) -> AbstractContextManager[None]:
        """Return a context in which the last replies are given once more."""
        return self._asker.again()

    def forgive(self, failed: int) -> None:
        """Leave out failed calls that the caller had foreseen."""
        self._asker.forgive(failed)

    def close(self) -> None:
        """Close the model and the cache; asking again opens them anew."""
        self._asker.close()

    def _sign(self, version: str, *parts: str) -> str:
        """The signature: version, model, `parts`, and the options that can change a reply."""
        cold, limit = self._params.temperature, self._params.max_tokens
        sampling = f"temperature={'none' if cold is None else f'{cold:g}'}", f"max_tokens={limit}"
        return "/".join((version, self._asker.model.signature, *parts, *sampling))
