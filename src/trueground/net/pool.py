"""Open connections of one event loop, and the way to each address."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from trueground._version import __version__
from trueground.net.failures import ConnectError

CONNECT_TIMEOUT = 30.0  # seconds until an address counts as one where nobody is


@dataclass(slots=True)
class Pool:
    """A session of aiohttp and the right to use one of its connections.

    Waiting happens at `slots`, so that a call in line is not yet a call that is slow.
    """

    loop: asyncio.AbstractEventLoop
    session: aiohttp.ClientSession
    slots: asyncio.Semaphore


def open_pool(size: int, timeout: float, headers: Mapping[str, str]) -> Pool:
    """At most `size` connections; `timeout` seconds for each call; headers for all calls."""
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=size),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": f"trueground/{__version__}", **headers},
        timeout=aiohttp.ClientTimeout(total=timeout, sock_connect=CONNECT_TIMEOUT),
    )
    return Pool(asyncio.get_running_loop(), session, asyncio.Semaphore(size))


def route(address: str) -> tuple[URL, str | None]:
    """The parsed address, and the proxy that the environment names for it. Raises ConnectError.

    aiohttp's own `trust_env` reads the environment in a thread at every call, and breaks calls with
    a key where ~/.netrc knows the host.
    """
    try:
        url = URL(address)
    except ValueError:
        raise ConnectError("not an address that can be called", retryable=False) from None
    if url.host is None or proxy_bypass(url.host):
        return url, None
    return url, getproxies().get(url.scheme)
