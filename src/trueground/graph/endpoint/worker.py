"""An event loop in a thread, for callers that have none or have one that is running."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import wait
from typing import Any, TypeVar

T = TypeVar("T")
_LOOK_S = 0.05
_ENDING_S = 5.0  # for work to be broken off


class Worker:
    """Runs coroutines to their end; several threads may hand in some at once.

    The thread starts with the first and ends with `close`, which first awaits `end` in it; used
    again, it starts anew. One that nobody closes is closed when the process ends.
    """

    def __init__(self, name: str, end: Callable[[], Awaitable[None]]) -> None:
        self._name = name
        self._end = end
        self._lock = threading.Lock()
        self._running: tuple[asyncio.AbstractEventLoop, threading.Thread] | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Its result or what it raises; whatever breaks the waiting off ends the work too."""
        loop = self._started()
        ended = threading.Event()

        async def whole() -> T:
            try:
                return await work
            finally:
                ended.set()

        future = asyncio.run_coroutine_threadsafe(whole(), loop)
        try:
            # In short steps: on Windows Ctrl-C is not heard while waiting without an end.
            while not wait([future], _LOOK_S).done:
                pass
        except BaseException:
            future.cancel()
            ended.wait(_ENDING_S)
            raise
        return future.result()

    def close(self) -> None:
        """End the loop and what may be left of work that was broken off."""
        atexit.unregister(self.close)
        with self._lock:
            running, self._running = self._running, None
        if running is None:
            return
        loop, thread = running
        try:
            asyncio.run_coroutine_threadsafe(self._last(), loop).result()
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._running is None:
                loop = asyncio.new_event_loop()
                thread = threading.Thread(target=loop.run_forever, name=self._name, daemon=True)
                thread.start()
                self._running = loop, thread
                atexit.register(self.close)
            return self._running[0]

    async def _last(self) -> None:
        try:
            await self._end()
        finally:
            left = asyncio.all_tasks() - {asyncio.current_task()}
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)
