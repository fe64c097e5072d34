"""An event loop in a thread, for callers that have none or have one that is running."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from typing import Any, TypeVar

T = TypeVar("T")
_LOOK_S = 0.05  # in short steps Ctrl-C is heard at once
_ENDING_S = 5.0  # for work to be broken off


class LoopThread:
    """Runs coroutines to their end; several threads may hand in some at once.

    The thread starts with the first and ends with `close`, which breaks off what still runs and
    then awaits `end` in it; used again, it starts anew. One that nobody closes is closed when
    nothing holds it any more, so `end` may not, or when the process ends.
    """

    def __init__(
        self,
        name: str,
        end: Callable[[], Awaitable[None]],
        make_error: Callable[[], Exception] = lambda: RuntimeError("the event loop was closed"),
    ) -> None:
        """Name the thread.

        Args:
            name: The name of the thread.
            end: Called in the loop before it ends.
            make_error: Makes the error of work that the end of the loop breaks off. It may not
                hold the object that has the loop.
        """
        self._name, self._end, self._make_error = name, end, make_error
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closing: weakref.finalize[..., LoopThread] | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Its result or what it raises; whatever breaks the waiting off ends the work too.

        Raises the error of `make_error` if another thread closed the loop.
        """
        ended = threading.Event()

        async def noted() -> T:
            try:
                return await work
            finally:
                ended.set()

        with self._lock:  # or the loop could end before it has the work
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                thread = threading.Thread(
                    target=_serve, args=(self._loop,), name=self._name, daemon=True
                )
                thread.start()
                self._closing = weakref.finalize(self, _close, self._loop, thread, self._end)
            future = asyncio.run_coroutine_threadsafe(noted(), self._loop)
        try:
            while not wait([future], _LOOK_S).done:
                pass
        except BaseException:
            future.cancel()
            ended.wait(_ENDING_S)
            raise
        try:
            return future.result()
        except CancelledError:
            raise self._make_error() from None

    def close(self) -> None:
        """End what still runs, then the loop. Raises what `end` raises."""
        with self._lock:
            closing, self._closing, self._loop = self._closing, None, None
            if closing is not None:
                closing()


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


def _close(
    loop: asyncio.AbstractEventLoop, thread: threading.Thread, end: Callable[[], Awaitable[None]]
) -> None:
    async def last() -> None:
        """Break off all work, and only then take away what it uses."""
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await end()

    future = asyncio.run_coroutine_threadsafe(last(), loop)
    future.add_done_callback(lambda _: loop.call_soon_threadsafe(loop.stop))
    # What nobody holds is found anywhere, in the loop's own thread too.
    if threading.current_thread() is not thread:
        thread.join()
        future.result()


def run_in_own_loop(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of the work, which gets an event loop for itself.

    If a loop runs already, the new one runs in a thread. Ctrl-C cancels the work in either case.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    loops: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []
    unwanted = threading.Event()

    async def noted() -> T:
        task = asyncio.current_task()
        assert task is not None
        loops.append((asyncio.get_running_loop(), task))
        if unwanted.is_set():  # before there was a task to cancel
            task.cancel()
        return await work

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(asyncio.run, noted())
        try:
            return future.result()
        except BaseException:
            unwanted.set()
            for loop, task in loops:
                if not loop.is_closed():
                    loop.call_soon_threadsafe(task.cancel)
            raise
