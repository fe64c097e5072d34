"""Many callers, one worker thread that answers several of them at once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import msgspec

from trueground.models.base import ChatRequest, Params, Reply


@dataclass(eq=False)
class _GenerateRequest:
    request: ChatRequest
    reply: Future[Reply] = field(default_factory=Future)

    @property
    def params(self) -> Params:
        """What must be the same in a batch: all but the seed, of which every row has its own."""
        return msgspec.structs.replace(self.request.params, seed=None)

    @property
    def length(self) -> int:
        """In characters: near enough to sort by, and known before anything is tokenised."""
        return sum(len(m.content) for m in self.request.messages)


class Batcher:
    """Gathers requests that wait and hands up to `size` with the same parameters to `work`.

    `work` runs in one thread of its own, so that the event loop stays free. The request that has
    waited longest is always in the next batch, with those nearest to it in length.
    """

    def __init__(self, work: Callable[[list[ChatRequest]], list[Reply]], size: int) -> None:
        self._work = work
        self._size = size
        self._lock = threading.Lock()
        self._waiting: list[_GenerateRequest] = []
        self._pool: ThreadPoolExecutor | None = None
        self.closing = threading.Event()

    async def ask(self, request: ChatRequest) -> Reply:
        """The reply to one request. What `work` raises comes out here."""
        asked = _GenerateRequest(request)
        with self._lock:
            self._waiting.append(asked)
        try:
            # The other calls that were begun together with this one get into the same batch.
            await asyncio.sleep(0)
            if self._pool is None:
                self.closing.clear()
                self._pool = ThreadPoolExecutor(1, thread_name_prefix="trueground-hf")
            self._pool.submit(self._serve)
            return await asyncio.wrap_future(asked.reply)
        except asyncio.CancelledError:
            asked.reply.cancel()
            raise

    async def close(self) -> None:
        """End the thread; `work` may look at `closing` to stop early."""
        self.closing.set()
        pool, self._pool = self._pool, None
        if pool is not None:
            await asyncio.to_thread(pool.shutdown, cancel_futures=True)
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for asked in waiting:
            asked.reply.cancel()

    def _serve(self) -> None:
        """Answer one batch; there is a call of this for every request, so some find none left."""
        batch = self._take()
        if not batch:
            return
        try:
            replies = self._work([asked.request for asked in batch])
            if self.closing.is_set():
                raise CancelledError
        except BaseException as error:  # whatever it is, those who wait must hear of it
            for asked in batch:
                asked.reply.set_exception(error)
            return
        for asked, reply in zip(batch, replies, strict=True):
            asked.reply.set_result(reply)

    def _take(self) -> list[_GenerateRequest]:
        with self._lock:
            # Whose caller has given up is dropped.
            self._waiting = [a for a in self._waiting if not a.reply.cancelled()]
            if not self._waiting:
                return []
            oldest = self._waiting[0]
            alike = [a for a in self._waiting if a.params == oldest.params]
            alike.sort(key=lambda asked: asked.length)
            start = alike.index(oldest) // self._size * self._size
            batch = alike[start : start + self._size]
            self._waiting = [a for a in self._waiting if a not in batch]
        return [asked for asked in batch if asked.reply.set_running_or_notify_cancel()]
