"""An application that answers from a thread of the test."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import web


@contextmanager
def answering(listening: socket.socket, app: web.Application) -> Iterator[None]:
    """The application answers at this socket, which is closed at the end."""
    started, ended = threading.Event(), threading.Event()

    async def answer() -> None:
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.SockSite(runner, listening).start()
        started.set()
        await asyncio.to_thread(ended.wait)
        await runner.cleanup()

    thread = threading.Thread(target=lambda: asyncio.run(answer()))
    thread.start()
    try:
        assert started.wait(10)
        yield
    finally:
        ended.set()
        thread.join(10)
        listening.close()
