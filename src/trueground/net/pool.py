"""Open connections of one event loop, the way to each address, and how fast calls may go out.

Requests and tokens a minute are taken from buckets. One holds what a second allows and fills at
59/60 of the limit, so that bucket and inflow together never exceed the limit in any minute. A call
that needs more than the bucket holds waits until it is full and takes it into debt, which the next
calls wait out.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.request import getproxies, proxy_bypass

import aiohttp
from aiohttp.client_proto import ResponseHandler
from yarl import URL

from trueground._version import __version__
from trueground.errors import UsageError
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
        host = url.host  # decoded, which "xn--ß" can't be
    except ValueError:
        return None
    return url if host is not None and url.scheme in ("http", "https") else None


class _Bucket:
    """An allowance that fills with time; amounts are requests or tokens."""

    sharers = 1  # processes that share what an endpoint allows

    def __init__(self, name: str, per_minute: float, now: float) -> None:
        if not 0 < per_minute < float("inf"):
            raise UsageError(
                f"--{name} {per_minute:g} lets no call out; give a number above 0, or leave it away"
            )
        per_minute /= self.sharers
        self._size = self._level = per_minute / 60
        self._rate = (per_minute - self._size) / 60  # a second
        self._then = now

    def wait(self, amount: float, now: float) -> float:
        """Seconds until `amount` may be taken; 0 if it may be taken now."""
        self._level = min(self._size, self._level + (now - self._then) * self._rate)
        self._then = now
        missing = min(amount, self._size) - self._level
        # A rounding error of the clock must not cost another sleep.
        return missing / self._rate if missing > 1e-9 * self._size else 0.0

    def take(self, amount: float) -> None:
        """Take what `wait` allowed; a negative amount gives back."""
        self._level = min(self._size, self._level - amount)


class Limiter:
    """Lets calls go out, first come, first served; without limits and pauses it never waits.

    At most `rpm` calls start in any minute, and `tpm` tokens plus those of one call. `clock` gives
    seconds, `sleep` waits for some.
    """

    def __init__(
        self,
        rpm: float | None = None,
        tpm: float | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Raises UsageError for a limit that lets nothing through."""
        self._clock, self._sleep = clock, sleep
        self._requests = None if rpm is None else _Bucket("rpm", rpm, clock())
        self._tokens = None if tpm is None else _Bucket("tpm", tpm, clock())
        self._unlimited = rpm is None and tpm is None
        self._until = 0.0
        self._paused = False
        self._line: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None

    @staticmethod
    def share(processes: int) -> None:
        """Share what an endpoint allows: limiters made from now on take one part of so many."""
        _Bucket.sharers = processes

    @property
    def counts_tokens(self) -> bool:
        return self._tokens is not None

    async def acquire(self, tokens: float = 0) -> None:
        """Wait until a call of so many tokens may go out."""
        if self._unlimited and not self._paused:
            return
        loop = asyncio.get_running_loop()
        if self._line is None or self._line[0] is not loop:
            # A lock belongs to one event loop, a limiter may see several.
            self._line = (loop, asyncio.Lock())
        async with self._line[1]:
            while (wait := self._wait(tokens)) > 0:
                await self._sleep(wait)
            if self._requests is not None:
                self._requests.take(1)
            if self._tokens is not None:
                self._tokens.take(tokens)

    def pause(self, seconds: float) -> None:
        """Let nothing out for so long; of several pauses the one that ends last counts."""
        self._until = max(self._until, self._clock() + seconds)
        self._paused = True

    def correct(self, estimated: float, actual: float) -> None:
        """Settle the tokens of a call once the endpoint has counted them."""
        if self._tokens is not None:
            self._tokens.take(actual - estimated)

    def _wait(self, tokens: float) -> float:
        now = self._clock()
        pause = max(0.0, self._until - now)
        self._paused = pause > 0
        requests = self._requests.wait(1, now) if self._requests is not None else 0.0
        words = self._tokens.wait(tokens, now) if self._tokens is not None else 0.0
        return max(pause, requests, words)
