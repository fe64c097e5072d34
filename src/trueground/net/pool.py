"""Open connections of one event loop, and the way to each address."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.request import getproxies, proxy_bypass

import aiohttp
from aiohttp.client_proto import ResponseHandler
from yarl import URL

from trueground._version import __version__
from trueground.net.failures import ConnectError, UnaskedError
from trueground.net.redact import shown

CONNECT_TIMEOUT = 30.0  # seconds until an address counts as one where nobody is


@dataclass(slots=True)
class ConnectionPool:
    """A session of aiohttp and the right to use one of its connections.

    Waiting happens at `slots`, so that a call in line is not yet a call that is slow.
    """

    loop: asyncio.AbstractEventLoop
    session: aiohttp.ClientSession
    slots: asyncio.Semaphore


class _OneReply(ResponseHandler):
    """A connection that carries one call; where more than one reply comes, none is taken.

    On a connection that is used again, a reply too many (a gateway's fault) would be taken for that
    to the next call, and every later one would belong to the call before. It may come at any
    moment, also when the next call is under way: nothing then tells them apart.
    """

    _first: Any = None  # the body of the first reply
    _unasked: UnaskedError | None = None

    def set_response_params(self, **params: Any) -> None:
        """Before the call goes out: bytes that are here already answer nothing."""
        if self._tail:
            self._unasked = UnaskedError()
        super().set_response_params(**params)

    def feed_data(self, data: Any, size: int = 0) -> None:
        """One reply, as the parser finds it; notes on the way (1xx) are none."""
        message, body = data
        if message.code >= 200 and self._first is None:
            self._first = body
        elif message.code >= 200:
            self._unasked = UnaskedError()
            self._first.set_exception(self._unasked)
        super().feed_data(data, size)

    async def read(self) -> Any:
        """The head of the reply. Raises UnaskedError."""
        found = await super().read()
        if self._unasked is not None:
            raise self._unasked
        return found


def open_pool(size: int, timeout: float, headers: Mapping[str, str]) -> ConnectionPool:
    """At most `size` connections at once, a new one for each call, of `timeout` seconds at most.

    `headers` go with all calls.
    """
    connector: Any = aiohttp.TCPConnector(limit=size, force_close=True)
    connector._factory = partial(_OneReply, loop=asyncio.get_running_loop())
    session = aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": f"trueground/{__version__}", **headers},
        timeout=aiohttp.ClientTimeout(total=timeout, sock_connect=CONNECT_TIMEOUT),
    )
    return ConnectionPool(asyncio.get_running_loop(), session, asyncio.Semaphore(size))


def route(address: str) -> tuple[URL, str | None]:
    """The parsed address, and the proxy that the environment names for it. Raises ConnectError.

    aiohttp's own `trust_env` reads the environment in a thread at every call, and breaks calls with
    a key where ~/.netrc knows the host.
    """
    url = _parse(address)
    if url is None:
        reason = f"{shown(address)} is not an address that can be called"
        raise ConnectError(reason, retryable=False)
    proxies = {} if proxy_bypass(url.host or "") else getproxies()
    kind = url.scheme if url.scheme in proxies else "all"
    if kind not in proxies:
        return url, None
    # Like other programs, take "host:port" for an address.
    named = proxies[kind] if "://" in proxies[kind] else f"http://{proxies[kind]}"
    if _parse(named) is not None:
        return url, named
    variables = (f"{kind}_proxy", f"{kind.upper()}_PROXY")
    variable = next((name for name in variables if os.environ.get(name)), variables[1])
    raise ConnectError(
        f"the variable {variable} names a proxy that cannot be used: {shown(named)}; expected "
        "one such as http://localhost:8080. Change or unset it, or name the host in NO_PROXY",
        retryable=False,
    )


def _parse(address: str) -> URL | None:
    """The address; None where it cannot be called."""
    try:
        url = URL(address)
        (url.raw_host or "").encode("idna")  # as the name is looked up: "a..b" has no such form
    except ValueError:
        return None
    return url if url.host is not None and url.scheme in ("http", "https") else None
