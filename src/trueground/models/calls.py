"""Calls to one model: under which key a reply is kept, equal calls, and what a fault is.

A key depends on who answers, what is asked and how, and on nothing else: not on the endpoint, the
machine or the account. Runs (`evaluate.asking`), builds and judges (`models.asker`) keep replies in
ways of their own.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager

import msgspec

from trueground.errors import UnreachableError, fails_alone
from trueground.models.base import UNREACHABLE, ChatModel, ChatRequest, Message, Reply
from trueground.net.cache import ResponseCache
from trueground.net.redact import raised
from trueground.types import Status

# Part of every key: a change of what a key or a kept reply means must not meet older entries.
_VERSION = "1"
_KEPT = (None, Status.TRUNCATED)
_canonical = msgspec.json.Encoder(order="sorted").encode
# Not JSON: a log-probability may be minus infinity.
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Reply).decode
# So many calls in a row without reaching the model, and the rest would fare no better.
_GIVE_UP_AFTER = 20
# So many items at least are refused before an endpoint counts as one that takes none.
_FIRST_REFUSED = 3


def request_key(signature: str, request: ChatRequest) -> str:
    """SHA-256 (hex) of the model's signature, the messages, the parameters and the draw."""
    params = request.params
    # 0 is 0.0 where a number need not be whole.
    floats = {
        name: float(value)
        for name in ("temperature", "top_p")
        if type(value := getattr(params, name)) is int
    }
    if floats:
        params = msgspec.structs.replace(params, **floats)
    words = (_VERSION, signature, request.messages, params, request.draw)
    return hashlib.sha256(_canonical(words)).hexdigest()


def prompt_sha256(messages: Sequence[Message]) -> str:
    """SHA-256 (hex) of the messages alone."""
    return hashlib.sha256(_canonical(messages)).hexdigest()


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
