"""Downloads into files: streamed, checked, and taken up again where they broke off.

What has arrived lies in a hidden `.part` file beside the target, named after the address too, so
that only the same thing is ever continued. The target appears when it is whole and checked.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import aiohttp

from trueground._version import __version__
from trueground.errors import (
    InputError,
    TruegroundError,
    UnreachableError,
    UsageError,
    WriteError,
)
from trueground.net.failures import HttpError
from trueground.net.files import open_no_follow
from trueground.net.pool import CONNECT_TIMEOUT
from trueground.net.redact import scrub, shown
from trueground.net.retry import persist
from trueground.net.transfer import SILENCE_S, Progress, Transfer, WrongError


@dataclass(frozen=True)
class Downloaded:
    """A file that is there; `sha256` in hex."""

    path: Path
    size: int
    sha256: str


async def download(
    url: str,
    path: Path,
    *,
    headers: Mapping[str, str] | None = None,
    sha256: str | None = None,
    size: int | None = None,
    progress: Progress | None = None,
    max_attempts: int = 6,
    backoff: float = 1.0,
) -> Downloaded:
    """Fetch what is at an address into a file; `sha256` and `size` (bytes) are checked if given.

    `headers` with `Authorization` do not follow a redirect to another host. InputError: not there,
    or not what was expected. UnreachableError: no attempt helped. WriteError: the disk.
    """
    part = path.with_name(f".{path.name}.{hashlib.sha256(url.encode()).hexdigest()[:12]}.part")
    try:
        with _opened(part) as out:
            transfer = Transfer(url, out, dict(headers or {}), size, progress)
            await _finish(transfer, sha256, max_attempts, backoff)
        part.replace(path)
    except HttpError as error:
        kept = part.stat().st_size
        if not kept:
            part.unlink()
        secret = (headers or {}).get("Authorization", "").rpartition(" ")[2]
        error.reason = scrub(error.reason, (secret,))
        raise refusal(url, error, kept) from None
    except OSError as error:
        raise WriteError(
            f"writing {part} failed: {error.strerror or error}. Make room or fix the permissions, "
            "then try again; what has arrived is kept"
        ) from error
    except WrongError as error:
        part.unlink(missing_ok=True)
        raise InputError(
            f"{shown(url)} is not what was expected: {error}. Nothing was kept; the origin has "
            "changed or something between here and there alters files"
        ) from None
    return Downloaded(path, transfer.done, transfer.digest.hexdigest())


def refusal(url: str, error: HttpError, kept: int = 0) -> TruegroundError:
    """What to tell when something could not be fetched; `kept` bytes of it are there."""
    where = shown(url)
    if error.status in (401, 403):
        return UnreachableError(
            f"{where} lets nobody in: {error}. Check the name; if the data are gated, accept "
            "their terms and put a token into HF_TOKEN"
        )
    if error.status in (404, 410):
        return InputError(f"{where} does not exist: {error}")
    more = f" {kept:,} bytes of it are kept, and the next try goes on from there." if kept else ""
    return UnreachableError(
        f"{where} could not be fetched: {error}.{more} Check the connection (HTTPS_PROXY names a "
        "proxy) and try again, or take a copy from disk with --from PATH"
    )


async def _finish(
    transfer: Transfer, sha256: str | None, max_attempts: int, backoff: float
) -> None:
    """All attempts, and the check. Raises HttpError, WrongError."""
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT, sock_read=SILENCE_S)
    agent = {"User-Agent": f"trueground/{__version__}"}
    async with aiohttp.ClientSession(
        timeout=timeout, headers=agent, auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar()
    ) as session:
        await _persist(transfer, session, max_attempts, backoff)
        if transfer.resumed and sha256 not in (None, transfer.digest.hexdigest()):
            # The beginning was on this disk; perhaps only that is wrong.
            transfer.restart()
            await _persist(transfer, session, max_attempts, backoff)
    found = transfer.digest.hexdigest()
    if transfer.total is not None and transfer.done != transfer.total:
        raise WrongError(f"found {transfer.done:,} bytes; expected {transfer.total:,}")
    if sha256 not in (None, found):
        raise WrongError(f"found SHA-256 {found}; expected {sha256}")


async def _persist(
    transfer: Transfer, session: aiohttp.ClientSession, max_attempts: int, backoff: float
) -> None:
    try:
        await transfer.attempt(session)
    except HttpError as failure:
        if not failure.retryable:
            raise
        await persist(
            lambda: transfer.attempt(session),
            failure,
            max_attempts=max_attempts,
            deadline=float("inf"),
            backoff=backoff,
            sleep=asyncio.sleep,
        )


@contextmanager
def _opened(part: Path) -> Iterator[BinaryIO]:
    """The unfinished file, for one process at a time. Raises OSError, UsageError."""
    busy = UsageError(f"{part} is being written by another process; wait until it has finished")
    part.parent.mkdir(parents=True, exist_ok=True)
    with open_no_follow(part, "a+b") as out:
        try:
            fcntl.flock(out, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise busy from None
        yield out
