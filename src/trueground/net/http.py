"""HTTP with one policy for all: retries, limits, deadlines, size limits, a reply to each call.

A first attempt costs as little as aiohttp allows; only a failure brings in retrying.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO, TypeVar
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from trueground.net.failures import (
    NETWORK_ERRORS,
    BrokenError,
    ConnectError,
    HttpError,
    HttpReply,
    SlowError,
    StatusError,
    TooLargeError,
    UnusableError,
    network_error,
)
from trueground.net.pool import CONNECT_TIMEOUT, ConnectionPool, Limiter, open_pool, route
from trueground.net.redact import Secrets

T = TypeVar("T")
Headers = Mapping[str, str]
Read = Callable[[HttpReply], T]
# Called with the bytes that are there and how many there will be, None if unknown.
Progress = Callable[[int, int | None], None]
LONGEST_WAIT = 300.0  # seconds for which an endpoint is heeded that asks for a pause
_LONGEST_BACKOFF = 60.0
_MOST_PAID = 2  # replies to one call that may have cost money and were of no use
_NO_TIME = "; the deadline of this call leaves no time for another attempt"
_BLOCK = 1 << 20
_JSON = {"Content-Type": "application/json"}
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}
_ID = "X-Request-Id"
_OWN_ID = re.compile(rb'"id"\s*:\s*"([^"]{1,200})"')
_SIZE = re.compile("[0-9]{1,18}")  # bytes
# Request headers that hold no credentials. All others, whatever their names, may be credentials.
_OPEN_HEADERS = frozenset(
    (
        *("accept", "accept-encoding", "accept-language", "cache-control", "connection"),
        *("content-length", "content-type", "host", "if-range", "range", "user-agent"),
    )
)
_ANSWERED = (aiohttp.ClientResponseError, aiohttp.ClientPayloadError)


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


@dataclass(frozen=True, slots=True)
class FileForm:
    """A multipart form with one file, opened anew for each attempt; aiohttp closes it."""

    fields: Mapping[str, str]
    name: str
    path: Path

    def open(self) -> aiohttp.FormData:
        """The form, ready to be sent once. OSError if the file cannot be read."""
        form = aiohttp.FormData(dict(self.fields))
        form.add_field(self.name, self.path.open("rb"), filename=self.path.name)
        return form


@dataclass(slots=True)
class _Call:
    """What every attempt of a call repeats; `deadline` is a moment of time.monotonic.

    `costs`: whoever answers it is paid. `calls` is how many attempts came to somebody, `id` the
    name of the last one. `stream`: the body may take its time; `decompress` it.
    """

    method: str
    url: str
    data: bytes | FileForm | None = None
    headers: Headers | None = None
    tokens: float = 0
    deadline: float | None = None
    costs: bool = False
    stream: bool = False
    decompress: bool = True
    calls: int = 0
    id: str = ""


class WrongFileError(Exception):
    """What came is complete and not what was expected."""


class HttpClient:
    """Calls to endpoints; every method raises HttpError when no attempt has helped.

    `headers` go with every call. `secrets` appear in no failure and no reply, however they are
    written (see `redact`). `read` makes the result of any reply, or raises HttpError. Connections
    belong to the running event loop: close the client before the loop ends; in another loop it
    opens new ones.
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
        self._secrets = Secrets(secrets)
        self._sleep = sleep
        self._timeout = min(self.policy.timeout, self.policy.deadline)
        self._pool: ConnectionPool | None = None
        self._mark = f"tg-{token_hex(8)}-"
        self._numbers = count(1)
        self._routes: dict[str, tuple[URL, str | None]] = {}

    async def ask(self, url: str, body: bytes, read: Read[T], *, tokens: float = 0) -> T:
        """Send JSON to a model.

        `tokens` is the estimate for the limiter. What came and is of no use was paid for: it is
        asked for once more at most.
        """
        return await self._read(_Call("POST", url, body, _JSON, tokens, costs=True), read)

    async def post(
        self,
        url: str,
        data: bytes | FileForm | Mapping[str, str],
        read: Read[T],
        *,
        headers: Headers | None = None,
        once: bool = False,
    ) -> T:
        """Send JSON, a form with a file, or fields as a web form does, `name=value&…`.

        With `once` no second attempt is made. OSError if the file cannot be read.
        """
        headers = dict(headers or {})
        if isinstance(data, Mapping):
            data, headers = urlencode(data).encode(), headers | _FORM
        elif isinstance(data, bytes):
            headers |= _JSON
        return await self._read(_Call("POST", url, data, headers), read, once=once)

    async def upload(self, url: str, path: Path, fields: Mapping[str, str], read: Read[T]) -> T:
        """Send a form with these fields and a file as `file`. OSError if it cannot be read."""
        return await self.post(url, FileForm(fields, "file", path), read)

    async def get(self, url: str, read: Read[T], *, headers: Headers | None = None) -> T:
        """What is at an address, if it is within the size limit."""
        return await self._read(_Call("GET", url, headers=headers), read)

    async def download(
        self,
        url: str,
        out: BinaryIO,
        *,
        headers: Headers | None = None,
        size: int | None = None,
        progress: Progress | None = None,
        resume: bool = False,
    ) -> str:
        """Stream what is at an address, of any size, into an empty file; its SHA-256 in hex.

        With `resume` the file may hold the beginning, and only the rest is fetched, after a broken
        connection too. `timeout` is for silence here, and there is no deadline. WrongFileError
        where the size in bytes is another one; OSError if the file cannot be written. What came
        before a failure stays in the file.
        """
        transfer = _Transfer(out, size, progress, resume)
        call = _Call("GET", url, deadline=float("inf"), stream=True, decompress=not resume)

        async def attempt() -> None:
            if transfer.prepare():
                call.headers = {"Accept-Encoding": "identity", **(headers or {}), **transfer.range}
                await self._attempt(call, transfer.take)

        try:
            await self._retrying(call, attempt)
        finally:
            out.flush()
        if size is not None and transfer.done != size:
            raise WrongFileError(f"found {transfer.done:,} bytes; expected {size:,}")
        return transfer.digest.hexdigest()

    async def close(self) -> None:
        """Give the connections back."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.session.close()

    async def retry(
        self, attempt: Callable[[], Awaitable[T]], failure: HttpError, deadline: float
    ) -> T:
        """Try again after a first failure; the last failure, with its count, if nothing helps.

        Waits as long as the endpoint asks, within reason, and at least a random time up to
        `backoff` seconds that doubles with each attempt. `deadline` is a moment of time.monotonic.
        """
        policy, attempts, paid = self.policy, 1, int(failure.paid)
        while failure.retryable and attempts < policy.max_attempts and paid < _MOST_PAID:
            now, requested = time.monotonic(), failure.wait or 0.0
            if now + requested < deadline:  # beyond it there is nothing to wait for
                requested = min(requested, LONGEST_WAIT)
            backoff = min(policy.backoff * 2 ** (attempts - 1), _LONGEST_BACKOFF)
            wait = max(requested, random.uniform(0, backoff))
            if now + wait >= deadline:
                if failure.wait:
                    failure.reason += f"; the endpoint asks to wait {failure.wait:.0f} s"
                failure.reason += _NO_TIME
                break
            await self._sleep(wait)
            attempts += 1
            try:
                left = None if deadline == float("inf") else deadline - time.monotonic()
                async with asyncio.timeout(left):
                    return await attempt()
            except TimeoutError:
                failure = SlowError(failure.reason + _NO_TIME, retryable=False)
            except HttpError as error:
                failure = error
                paid += error.paid
        failure.attempts = attempts
        raise failure

    async def _read(self, call: _Call, read: Read[T], *, once: bool = False) -> T:
        async def take(response: aiohttp.ClientResponse) -> T:
            body = await _body(response, self.policy.max_reply_bytes)
            url = str(response.url)
            reply = HttpReply(response.status, response.headers, body, url, call.calls)
            if self._secrets:
                reply = replace(reply, body=self._secrets.hide(reply.utf8()))
            if call.costs:
                self._check_own(reply, call.id)
            return read(reply)

        return await self._retrying(call, lambda: self._attempt(call, take), once=once)

    async def _retrying(
        self, call: _Call, attempt: Callable[[], Awaitable[T]], *, once: bool = False
    ) -> T:
        try:
            return await attempt()
        except HttpError as error:
            failure = error
        if failure.retryable and not once:
            try:
                return await self.retry(attempt, failure, call.deadline or float("inf"))
            except HttpError as error:
                failure = error
        # Headers that it quotes may hold what is no text.
        words = failure.reason.encode("utf-8", "replace").decode()
        failure.reason = self._secrets.scrub(words)
        failure.args = (failure.reason,)
        failure.calls = call.calls
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
        headers, timeout = call.headers, pool.session.timeout
        if call.costs:  # vLLM and gateways give the name back
            call.id = f"{self._mark}{next(self._numbers)}"
            headers = {**(headers or {}), _ID: call.id}
        if call.stream:
            timeout = aiohttp.ClientTimeout(
                total=None, sock_connect=CONNECT_TIMEOUT, sock_read=self._timeout
            )
        async with pool.slots:
            await self.limiter.acquire(call.tokens)
            if call.deadline is None:
                call.deadline = time.monotonic() + self.policy.deadline
            call.calls += 1
            came = False
            try:
                async with pool.session.request(
                    call.method,
                    url,
                    data=call.data.open() if isinstance(call.data, FileForm) else call.data,
                    headers=headers,
                    # A moved POST would arrive as a GET, without its body.
                    allow_redirects=call.method == "GET",
                    middlewares=(_OriginGuard(url),),
                    proxy=proxy,
                    timeout=timeout,
                    auto_decompress=call.decompress,
                ) as response:
                    came = response.ok
                    return await take(response)
            except StatusError as error:
                if error.status == 429 and error.retryable:
                    # All calls are held back; a pause that none could outlast would only delay
                    # the news.
                    pause = self.policy.backoff if error.wait is None else error.wait
                    if pause < self.policy.deadline:
                        self.limiter.pause(min(pause, LONGEST_WAIT))
                raise
            except NETWORK_ERRORS as error:
                failure = network_error(error, self._timeout, f"{url.origin()}")
                call.calls -= isinstance(failure, ConnectError)
                # Also where what came could not be read: somebody has answered.
                failure.paid = call.costs and (came or isinstance(error, _ANSWERED))
                raise failure from None

    def _check_own(self, reply: HttpReply, own: str) -> None:
        """Raises UnusableError for a reply that bears the name of another call."""
        said = b"%s %s" % (
            reply.headers.get(_ID, "").encode("utf-8", "replace"),
            b" ".join(_OWN_ID.findall(reply.body)),
        )
        named = re.findall(rb"%s\d+" % self._mark.encode(), said)
        if named and own.encode() not in named:
            reason = f"HTTP {reply.status}: the reply is that to another call"
            raise UnusableError(reason, status=reply.status, paid=True)


class _OriginGuard:
    """Keeps credentials at the scheme, host and port that a call is meant for.

    aiohttp drops Authorization and Cookie when a redirect leads elsewhere, and sends all other
    headers along, such as `X-Api-Key`. Once a redirect has led away, the server there chooses
    the next address, so that no credentials are sent even if it is the first host again.
    """

    def __init__(self, url: URL) -> None:
        self._origin = url.origin()
        self._has_left = False

    async def __call__(
        self, request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        """Send a request, the first one or that of a redirect. ConnectError: no such address."""
        self._has_left = self._has_left or request.url.origin() != self._origin
        if self._has_left:
            route(str(request.url))
            for name in set(request.headers):
                if name.lower() not in _OPEN_HEADERS:
                    request.headers.popall(name, None)
        return await send(request)


class _Transfer:
    """A download under way: what has arrived, its hash so far, and how many bytes are to come."""

    def __init__(
        self, out: BinaryIO, total: int | None, progress: Progress | None, resume: bool
    ) -> None:
        self._out, self._total, self._resume = out, total, resume
        self._report = progress or (lambda _done, _total: None)
        self._etag: str | None = None
        self.done, self.digest = 0, hashlib.sha256()
        if resume:
            out.seek(0)
            for block in iter(lambda: out.read(_BLOCK), b""):
                self._count(block)

    def prepare(self) -> bool:
        """Whether something is to be fetched; what cannot be gone on with is forgotten."""
        if not self._resume or (self._total is not None and self.done > self._total):
            self._restart()
        return self._total is None or self._total == 0 or self.done < self._total

    @property
    def range(self) -> dict[str, str]:
        """The headers that ask for the rest only; if it has changed meanwhile, all of it comes."""
        if not self.done:
            return {}
        wanted = {"Range": f"bytes={self.done}-"}
        return wanted | {"If-Range": self._etag} if self._etag else wanted

    async def take(self, response: aiohttp.ClientResponse) -> None:
        """Write what comes. HttpError, WrongFileError."""
        start, total = 0, response.content_length
        if response.status != 200:
            said = response.headers.get("Content-Range", "").removeprefix("bytes ").partition("/")
            first = said[0].partition("-")[0]
            start = int(first) if _SIZE.fullmatch(first) else 0
            total = int(said[2]) if _SIZE.fullmatch(said[2]) else None
        if response.status == 416 and total == self.done:
            return
        if response.status == 416 or (response.status == 206 and start != self.done):
            self._restart()
            raise BrokenError("the rest of the file is not to be had; all of it is fetched again")
        if response.status not in (200, 206):
            body = await response.content.read(4_096)
            HttpReply(response.status, response.headers, body).require_success()
        if response.status == 200 and self.done:
            self._restart()
        if response.headers.get("Content-Encoding") and not self._resume:
            total = None  # the size of what is sent, not of what it unpacks to
        if total is not None and self._total is not None and total != self._total:
            raise WrongFileError(f"found {total:,} bytes; expected {self._total:,}")
        etag = response.headers.get("ETag")
        usable = etag and etag.isascii() and not etag.startswith("W/")
        self._etag = etag if usable else None
        expected = self._total if self._total is not None else total
        async for block in response.content.iter_chunked(_BLOCK):
            self._out.write(block)
            self._count(block)
            self._report(self.done, expected)
        if expected is not None and self.done < expected:
            raise BrokenError(f"{self.done:,} of {expected:,} bytes came")

    def _restart(self) -> None:
        self._out.seek(0)
        self._out.truncate(0)
        self.done, self.digest = 0, hashlib.sha256()

    def _count(self, block: bytes) -> None:
        self.digest.update(block)
        self.done += len(block)


async def _body(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """The body, decompressed, if it has at most `limit` bytes. Raises TooLargeError."""
    size = response.content_length or 0
    parts = []
    if size <= limit:
        size = 0  # counted anew: what is announced is the packed size
        while size <= limit and (part := await response.content.readany()):
            size += len(part)
            parts.append(part)
    if size > limit:
        response.close()
        reason = f"HTTP {response.status}: the reply is larger than {limit:,} bytes"
        raise TooLargeError(reason, status=response.status, retryable=False)
    return b"".join(parts)
