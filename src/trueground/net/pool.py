"""Connections of one event loop, proxies, and rate limits.

Requests and tokens per minute are taken from buckets. A bucket has the size of one second and fills
at 59/60 of the limit, so bucket and inflow together never exceed the limit in any minute. A call
that needs more than the size of the bucket waits until it is full and leaves it negative, so the
next calls wait longer.
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

CONNECT_TIMEOUT = 30.0  # Seconds until an address counts as unreachable.


@dataclass(slots=True)
class ConnectionPool:
    """A session of aiohttp, with a semaphore for its connections.

    Calls wait at `slots`, so the time of waiting doesn't count for their timeout.
    """

    loop: asyncio.AbstractEventLoop
    session: aiohttp.ClientSession
    slots: asyncio.Semaphore


class _OneReply(ResponseHandler):
    """A connection for one call. If it gets more than one reply, none is used.

    If a faulty gateway sends an additional reply on a reused connection, it would be taken as the
    reply to the next call, and so on. It may also arrive during the next call, when it can't be
    distinguished.
    """

    _first: Any = None  # the body of the first reply
    _unasked: UnaskedError | None = None

    def set_response_params(self, **params: Any) -> None:
        """Prepare the call. Bytes that have already arrived aren't its reply."""
        if self._tail:
            self._unasked = UnaskedError()
        super().set_response_params(**params)

    def feed_data(self, data: Any, size: int = 0) -> None:
        """Receive a parsed reply; interim replies (1xx) don't count."""
        message, body = data
        if message.code >= 200 and self._first is None:
            self._first = body
        elif message.code >= 200:
            self._unasked = UnaskedError()
            self._first.set_exception(self._unasked)
        super().feed_data(data, size)

    async def read(self) -> Any:
        """Return the head of the reply. Raises UnaskedError."""
        head = await super().read()
        if self._unasked is not None:
            raise self._unasked
        return head


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
    """Return the parsed address, and its proxy from the environment. Raises ConnectError.

    aiohttp's `trust_env` reads the environment in a thread at every call. It also breaks calls with
    a key if ~/.netrc has the host.
    """
    url = _parse(address)
    if url is None:
        reason = f"{shown(address)} isn't a valid address"
        raise ConnectError(reason, retryable=False)
    proxies = {} if proxy_bypass(url.host or "") else getproxies()
    kind = url.scheme if url.scheme in proxies else "all"
    if kind not in proxies:
        return url, None
    # Like other programs, accept "host:port".
    proxy = proxies[kind] if "://" in proxies[kind] else f"http://{proxies[kind]}"
    if _parse(proxy) is not None:
        return url, proxy
    variables = (f"{kind}_proxy", f"{kind.upper()}_PROXY")
    variable = next((name for name in variables if os.environ.get(name)), variables[1])
    raise ConnectError(
        f"the variable {variable} has an invalid proxy: {shown(proxy)}; expected an address such "
        "as http://localhost:8080. Change or unset it, or add the host to NO_PROXY",
        retryable=False,
    )


def _parse(address: str) -> URL | None:
    """Return the parsed address; None if it is invalid."""
    try:
        url = URL(address)
        (url.raw_host or "").encode("idna")  # This fails for invalid names such as "a..b".
        host = url.host  # This fails for names that can't be decoded, such as "xn--ß".
    except ValueError:
        return None
    return url if host is not None and url.scheme in ("http", "https") else None


class _Bucket:
    """A token bucket of requests or tokens."""

    sharers = 1  # Number of processes that share the limit.

    def __init__(self, name: str, per_minute: float, now: float) -> None:
        if not 0 < per_minute < float("inf"):
            raise UsageError(
                f"--{name} {per_minute:g} is invalid: no call could start. Pass a number above 0, "
                f"or remove --{name}"
            )
        per_minute /= self.sharers
        self._size = self._level = per_minute / 60
        self._rate = (per_minute - self._size) / 60  # a second
        self._then = now

    def wait(self, amount: float, now: float) -> float:
        """Return the seconds until `amount` may be taken."""
        self._level = min(self._size, self._level + (now - self._then) * self._rate)
        self._then = now
        missing = min(amount, self._size) - self._level
        # A rounding error of the clock must not cost another sleep.
        return missing / self._rate if missing > 1e-9 * self._size else 0.0

    def take(self, amount: float) -> None:
        """Take an amount; a negative amount is returned to the bucket."""
        self._level = min(self._size, self._level - amount)


class Limiter:
    """A rate limiter for calls, in order of arrival.

    At most `rpm` calls start in any minute, with `tpm` tokens plus those of one call. Without
    limits and pauses, it never waits.
    """

    def __init__(
        self,
        rpm: float | None = None,
        tpm: float | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Set the limits. UsageError if a limit allows no calls."""
        self._clock, self._sleep = clock, sleep
        self._requests = None if rpm is None else _Bucket("rpm", rpm, clock())
        self._tokens = None if tpm is None else _Bucket("tpm", tpm, clock())
        self._unlimited = rpm is None and tpm is None
        self._until = 0.0
        self._paused = False
        self._line: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None

    @staticmethod
    def share(processes: int) -> None:
        """Divide the limits of new limiters by a number of processes."""
        _Bucket.sharers = processes

    @property
    def counts_tokens(self) -> bool:
        return self._tokens is not None

    async def acquire(self, tokens: float = 0) -> None:
        """Wait until a call with this number of tokens may start."""
        if self._unlimited and not self._paused:
            return
        loop = asyncio.get_running_loop()
        if self._line is None or self._line[0] is not loop:
            # A lock belongs to one event loop, but a limiter may be used in several.
            self._line = (loop, asyncio.Lock())
        async with self._line[1]:
            wait = self._wait(tokens)
            while wait > 0:
                await self._sleep(wait)
                wait = self._wait(tokens)
            if self._requests is not None:
                self._requests.take(1)
            if self._tokens is not None:
                self._tokens.take(tokens)

    def pause(self, seconds: float) -> None:
        """Start no calls for some seconds; of several pauses, the one that ends last counts."""
        self._until = max(self._until, self._clock() + seconds)
        self._paused = True

    def correct(self, estimated: float, actual: float) -> None:
        """Replace the estimated tokens of a call by those that the endpoint counted."""
        if self._tokens is not None:
            self._tokens.take(actual - estimated)

    def _wait(self, tokens: float) -> float:
        now = self._clock()
        pause = max(0.0, self._until - now)
        self._paused = pause > 0
        requests = self._requests.wait(1, now) if self._requests is not None else 0.0
        token_wait = self._tokens.wait(tokens, now) if self._tokens is not None else 0.0
        return max(pause, requests, token_wait)
