"""An application that answers from a thread of the test."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import web

from trueground.view import server
from trueground.view.connections import Limits


@contextmanager
def answering(
    listening: socket.socket, app: web.Application, limits: Limits | None = None
) -> Iterator[None]:
    """The application answers at this socket, which is closed at the end."""
    started, ended = threading.Event(), threading.Event()

    async def answer() -> None:
        async with server.serving(listening, app, limits):
            started.set()
            await asyncio.to_thread(ended.wait)

    thread = threading.Thread(target=lambda: asyncio.run(answer()))
    thread.start()
    try:
        assert started.wait(10)
        yield
    finally:
        ended.set()
        thread.join(10)
        listening.close()
