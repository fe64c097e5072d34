"""Work beside the event loop that nobody need wait for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def in_daemon(work: Callable[[], T]) -> T:
    """What `work` gives or raises, from a thread that ends with the process.

    Ctrl-C does not wait for it, as it would for asyncio.to_thread: what it does still goes on, and
    comes to nothing.
    """
    loop = asyncio.get_running_loop()
    arrived: asyncio.Future[T] = loop.create_future()

    def settle(made: T | None, error: BaseException | None) -> None:
        if arrived.done():
            return
        if error is None:
            arrived.set_result(made)  # type: ignore[arg-type]
        else:
            arrived.set_exception(error)

    def whole() -> None:
        made: T | None = None
        error: BaseException | None = None
        try:
            made = work()
        except BaseException as raised:
            error = raised
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, made, error)

    threading.Thread(target=whole, name="stage", daemon=True).start()
    return await arrived
