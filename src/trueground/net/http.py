"""HTTP with one policy for all: retries, limits, deadlines, size limits, a reply to each call.

A first attempt costs as little as aiohttp allows; only a failure brings in the machinery of
retrying.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from secrets import token_hex
from typing import Any, TypeVar
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from trueground.net.bodies import MultipartForm, read_json, save, whole
from trueground.net.failures import (
    NETWORK_ERRORS,
    ConnectError,
    HttpError,
    HttpReply,
    StatusError,
    UnusableError,
    accept,
    network_error,
)
from trueground.net.files import part_of
from trueground.net.limits import Limiter
from trueground.net.pool import CONNECT_TIMEOUT, ConnectionPool, open_pool, route
from trueground.net.redact import hide, scrub
from trueground.net.retry import LONGEST_WAIT, persist

T = TypeVar("T")
Headers = Mapping[str, str]
_JSON = {"Content-Type": "application/json"}
_ID = "X-Request-Id"
_OWN_ID = re.compile(rb'"id"\s*:\s*"([^"]{1,200})"')
_ANSWERED = (aiohttp.ClientResponseError, aiohttp.ClientPayloadError)
_FIELDS = {"Content-Type": "application/x-www-form-urlencoded"}


@dataclass(frozen=True)
class Policy:
    """`timeout`: seconds for one attempt, slow replies included; `deadline`: for all attempts.

    The deadline begins when the call first goes out: waiting for a connection or for the limiter
    before that is not counted. `backoff` is the longest wait in seconds before the second attempt;
    it doubles with each further one.
    """

    max_connections: int = 32
    timeout: float = 300.0
    deadline: float = 1_800.0
    max_attempts: int = 6
    max_reply_bytes: int = 64_000_000
    backoff: float = 1.0


@dataclass(slots=True)
class _Call:
    """What every attempt of a call repeats; `deadline` is a moment of time.monotonic.

    `costs`: whoever answers it is paid. `made` is how many attempts came to somebody, `id` the name
    of the last one.
    """

    method: str
    url: str
    data: bytes | MultipartForm | None = None
    headers: Headers | None = None
    tokens: float = 0
    timeout: aiohttp.ClientTimeout | None = None
    deadline: float | None = None
    costs: bool = False
    made: int = 0
    id: str = ""


class HttpClient:
    """Calls to endpoints; every method raises HttpError when no attempt has helped.

    `headers` go with every call. `secrets` appear in no failure and no reply, however they are
    written (see `redact`). Connections belong to the running event loop: close the client
    before the loop ends; in another loop it opens new ones.
    """

    def __init__(
        self,
        policy: Policy | None = None,
        *,
        headers: Headers | None = None,
        secrets: tuple[str, ...] = (),
        limiter: Limiter | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.policy = policy or Policy()
        self.limiter = limiter or Limiter()
        self._headers = dict(headers or {})
        self._secrets = secrets
        self._sleep = sleep
        self._timeout = min(self.policy.timeout, self.policy.deadline)
        self._pool: ConnectionPool | None = None
        self._mark = f"tg-{token_hex(8)}-"
        self._numbers = count(1)
        self._routes: dict[str, tuple[URL, str | None]] = {}

    async def ask(
        self, url: str, body: bytes, read: Callable[[HttpReply], T], *, tokens: float = 0
    ) -> T:
        """Send JSON to a model; `read` makes the result of any reply, or raises HttpError.

        `tokens` is the estimate for the limiter. What came and is of no use was paid for: it is
        asked for once more at most.
        """
        return await self._run(_Call("POST", url, body, _JSON, tokens, costs=True), read)

    async def post_json(self, url: str, body: bytes, headers: Headers | None = None) -> HttpReply:
        """Send JSON; the reply if its status is 2xx."""
        headers = {**(headers or {}), **_JSON}
        return await self._run(_Call("POST", url, body, headers), accept)

    async def post_form(
        self, url: str, fields: Mapping[str, str], file: tuple[str, Path]
    ) -> HttpReply:
        """Send a multipart form with a file, given as (field name, path). OSError if unreadable."""
        return await self._run(_Call("POST", url, MultipartForm(fields, *file)), accept)

    async def post_fields(
        self,
        url: str,
        fields: Mapping[str, str],
        read: Callable[[HttpReply], T],
        headers: Headers | None = None,
    ) -> T:
        """Send fields as a web form does, `name=value&…`; `read` as in `ask`."""
        headers = {**(headers or {}), **_FIELDS}
        call = _Call("POST", url, urlencode(fields).encode(), headers)
        return await self._run(call, read)

    async def get_json(self, url: str, headers: Headers | None = None) -> Any:
        """The parsed JSON at an address."""
        return await self._run(_Call("GET", url, headers=headers), read_json)

    async def get_bytes(self, url: str, headers: Headers | None = None) -> bytes:
        """What is at an address, if it is within the size limit."""
        call = _Call("GET", url, headers=headers)
        return (await self._run(call, accept)).body

    async def download(self, url: str, path: Path, headers: Headers | None = None) -> str:
        """Stream what is at an address, of any size, into a file; its SHA-256 in hex.

        The file appears when it is whole. `timeout` is for silence here, not for the whole, and
        there is no deadline. Raises OSError if the file cannot be written.
        """
        part = part_of(path)

        async def take(response: aiohttp.ClientResponse) -> str:
            if not 200 <= response.status < 300:
                accept(await self._reply(response, 1))
            return await save(response, part)

        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=CONNECT_TIMEOUT, sock_read=self._timeout
        )
        call = _Call("GET", url, headers=headers, timeout=timeout, deadline=float("inf"))
        try:
            digest = await self._persist(call, take)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        return digest

    async def close(self) -> None:
        """Give the connections back."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.session.close()

    async def _run(self, call: _Call, read: Callable[[HttpReply], T]) -> T:
        async def take(response: aiohttp.ClientResponse) -> T:
            reply = await self._reply(response, call.made)
            if call.costs:
                self._check_own(reply, call.id)
            return read(reply)

        return await self._persist(call, take)

    async def _persist(
        self, call: _Call, take: Callable[[aiohttp.ClientResponse], Awaitable[T]]
    ) -> T:
        try:
            return await self._attempt(call, take)
        except HttpError as error:
            failure = error
        if failure.retryable:
            try:
                return await persist(
                    lambda: self._attempt(call, take),
                    failure,
                    max_attempts=self.policy.max_attempts,
                    deadline=call.deadline or float("inf"),
                    backoff=self.policy.backoff,
                    sleep=self._sleep,
                )
            except HttpError as error:
                failure = error
        # Headers that it quotes may hold what is no text.
        words = failure.reason.encode("utf-8", "replace").decode()
        failure.reason = scrub(words, self._secrets)
        failure.args = (failure.reason,)
        failure.calls = call.made
        raise failure from None  # what it came from may show headers and addresses

    async def _attempt(
        self, call: _Call, take: Callable[[aiohttp.ClientResponse], Awaitable[T]]
    ) -> T:
        pool = self._pool
        if pool is None or pool.loop is not asyncio.get_running_loop():
            pool = open_pool(self.policy.max_connections, self._timeout, self._headers)
            self._pool = pool
        if call.url not in self._routes:
            self._routes[call.url] = route(call.url)
        url, proxy = self._routes[call.url]
        async with pool.slots:
            await self.limiter.acquire(call.tokens)
            if call.deadline is None:
                call.deadline = time.monotonic() + self.policy.deadline
            call.made += 1
            came = False
            try:
                async with pool.session.request(
                    call.method,
                    url,
                    data=call.data.open() if isinstance(call.data, MultipartForm) else call.data,
                    headers=self._named(call) if call.costs else call.headers,
                    # A moved POST would arrive as a GET, without its body.
                    allow_redirects=call.method == "GET",
                    proxy=proxy,
                    timeout=call.timeout or pool.session.timeout,
                ) as response:
                    came = response.ok
                    return await take(response)
            except StatusError as error:
                self._heed(error)
                raise
            except NETWORK_ERRORS as error:
                failure = network_error(error, self._timeout, f"{url.origin()}")
                call.made -= isinstance(failure, ConnectError)
                # Also where what came could not be read: somebody has answered.
                failure.paid = call.costs and (came or isinstance(error, _ANSWERED))
                raise failure from None

    def _named(self, call: _Call) -> Headers:
        """The headers of an attempt, with a name that vLLM and gateways give back."""
        call.id = f"{self._mark}{next(self._numbers)}"
        return {**(call.headers or {}), _ID: call.id}

    def _check_own(self, reply: HttpReply, own: str) -> None:
        """Raises UnusableError for a reply that bears the name of another call."""
        told = b"%s %s" % (
            reply.headers.get(_ID, "").encode(),
            b" ".join(_OWN_ID.findall(reply.body)),
        )
        named = re.findall(rb"%s\d+" % self._mark.encode(), told)
        if named and own.encode() not in named:
            reason = f"HTTP {reply.status}: the reply is that to another call"
            raise UnusableError(reason, status=reply.status, paid=True)

    def _heed(self, error: StatusError) -> None:
        """Hold all calls back after a 429: as long as it says, else for `backoff` seconds."""
        if error.status != 429 or not error.retryable:
            return
        seconds = self.policy.backoff if error.wait is None else error.wait
        # A pause that no call could outlast would only delay the news.
        if seconds < self.policy.deadline:
            self.limiter.pause(min(seconds, LONGEST_WAIT))

    async def _reply(self, response: aiohttp.ClientResponse, calls: int) -> HttpReply:
        """The whole reply, without secrets. Raises TooLargeError."""
        body = await whole(response, self.policy.max_reply_bytes)
        reply = HttpReply(response.status, response.headers, body, str(response.url), calls)
        return replace(reply, body=hide(reply.utf8(), self._secrets)) if self._secrets else reply
