"""One download under way: what has arrived, and the request for the rest."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import BinaryIO

import aiohttp

from trueground.net.failures import (
    NETWORK_ERRORS,
    BrokenError,
    HttpReply,
    network_error,
    readable,
    status_error,
)
from trueground.net.pool import route

# Called with the bytes that are there and how many there will be, None if unknown.
Progress = Callable[[int, int | None], None]
SILENCE_S = 60.0  # seconds without a byte until a connection counts as broken
_BLOCK = 1 << 20


class WrongError(Exception):
    """What came is whole and not what was expected."""


class Transfer:
    """A download under way: what has arrived, its hash so far, and how many bytes are to come."""

    def __init__(
        self,
        url: str,
        out: BinaryIO,
        headers: dict[str, str],
        total: int | None,
        progress: Progress | None,
    ) -> None:
        self.url, self.proxy = route(url)
        self.out = out
        self.total = total
        self._headers = {"Accept-Encoding": "identity", **headers}
        self._report = progress or (lambda _done, _total: None)
        self._etag: str | None = None
        self.digest = hashlib.sha256()
        self.done = 0
        out.seek(0)
        for block in iter(lambda: out.read(_BLOCK), b""):
            self._count(block)
        self.resumed = self.done > 0

    def restart(self) -> None:
        """Forget what has arrived."""
        self.out.truncate(0)
        self.digest = hashlib.sha256()
        self.done = 0
        self.resumed = False

    async def attempt(self, session: aiohttp.ClientSession) -> None:
        """Fetch what is missing. Raises HttpError; what came before it stays."""
        if self.total is not None and self.done > self.total:
            self.restart()
        if self.total is not None and self.done == self.total > 0:
            return
        try:
            async with session.get(
                self.url, headers=self._headers | self._range(), proxy=self.proxy
            ) as response:
                await self._take(response)
        except NETWORK_ERRORS as error:
            raise network_error(error, SILENCE_S) from None
        finally:
            self.out.flush()

    def _range(self) -> dict[str, str]:
        if not self.done:
            return {}
        wanted = {"Range": f"bytes={self.done}-"}
        # If it has changed since the last attempt, all of it comes.
        return wanted | {"If-Range": self._etag} if self._etag else wanted

    async def _take(self, response: aiohttp.ClientResponse) -> None:
        start, total = _extent(response)
        if response.status == 416 and total == self.done:
            return
        if response.status == 416 or (response.status == 206 and start != self.done):
            self.restart()
            raise BrokenError("the rest of the file is not to be had; all of it is fetched again")
        if response.status not in (200, 206):
            body = await response.content.read(4_096)
            reply = HttpReply(response.status, response.headers, body)
            raise status_error(reply, readable(body))
        if response.status == 200 and self.done:
            self.restart()
        if total is not None and self.total is not None and total != self.total:
            raise WrongError(f"found {total:,} bytes; expected {self.total:,}")
        etag = response.headers.get("ETag")
        self._etag = etag if etag and not etag.startswith("W/") else None
        expected = self.total if self.total is not None else total
        async for block in response.content.iter_chunked(_BLOCK):
            self.out.write(block)
            self._count(block)
            self._report(self.done, expected)
        if expected is not None and self.done < expected:
            raise BrokenError(f"{self.done:,} of {expected:,} bytes came")

    def _count(self, block: bytes) -> None:
        self.digest.update(block)
        self.done += len(block)


def _extent(response: aiohttp.ClientResponse) -> tuple[int, int | None]:
    """Where the body begins in the file, and how large the file is (None: not said)."""
    if response.status == 200:
        return 0, response.content_length
    span, _, total = response.headers.get("Content-Range", "").removeprefix("bytes ").partition("/")
    start = span.partition("-")[0]
    return (int(start) if start.isdigit() else 0), (int(total) if total.isdigit() else None)
