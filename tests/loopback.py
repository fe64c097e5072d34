"""A web application on loopback, in a thread with an event loop of its own."""

from __future__ import annotations

import asyncio
import threading
from typing import Self

from aiohttp import web


class LoopbackServer:
    """Serves `app()` while it is entered; `base_url` ends in /v1."""

    base_url = ""

    def __init__(self) -> None:
        self._started = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._end = asyncio.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def app(self) -> web.Application:
        """What is served."""
        raise AssertionError("say what is served")

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._started.wait(10), "the server did not start"
        return self

    def __exit__(self, *_error: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(10)

    def _serve(self) -> None:
        try:
            self._loop.run_until_complete(self._main())
        finally:
            self._loop.run_until_complete(_cancel_all())
            self._loop.close()

    async def _main(self) -> None:
        runner = web.AppRunner(self.app(), access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        self._started.set()
        await self._end.wait()
        assert runner.server is not None
        transports = [handler.transport for handler in runner.server.connections]
        await runner.cleanup()
        # A transport that still sends to a client that was killed would outlive the loop, and its
        # warning would be that of whatever test runs next.
        for transport in filter(None, transports):
            transport.abort()


async def _cancel_all() -> None:
    """End the handlers that still hang or drip."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    for _ in range(2):  # transports are closed a step after they are told to
        await asyncio.sleep(0)
