"""Download files from any address; an interrupted download is resumed.

A download is streamed, checked, and taken up again where it broke off: what has arrived lies in a
hidden `.part` file beside the target, named after the address too, so that only the same thing is
ever continued. The target appears when it is complete and checked. Own code because the Hub's
client keeps nothing of a download that breaks off, and checks no file against a checksum.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trueground.errors import InputError, TruegroundError, UnreachableError, UsageError, WriteError
from trueground.files import OutputPath
from trueground.net.failures import HttpError
from trueground.net.http import HttpClient, Policy, Progress, WrongFileError
from trueground.net.redact import shown

_SILENCE_S = 60.0  # seconds without a byte until a connection counts as broken


@dataclass(frozen=True)
class Downloaded:
    """A file that is there; `size` in bytes, `sha256` in hex."""

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
    or not what was expected. UnreachableError: no attempt helped. WriteError: the disk. UsageError:
    another process is fetching it.
    """
    client = open_client(headers or {}, max_attempts, backoff)
    part = path.with_name(f".{path.name}.{hashlib.sha256(url.encode()).hexdigest()[:12]}.part")
    try:
        part.parent.mkdir(parents=True, exist_ok=True)
        with OutputPath(part).open_no_follow("a+b") as out:
            try:
                fcntl.flock(out, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(
                    f"{part} is being written by another process; wait until it has finished"
                ) from None
            resumed = out.tell() > 0

            async def fetch() -> str:
                return await client.download(
                    url, out, headers=headers, size=size, progress=progress, resume=True
                )

            found = await fetch()
            if resumed and sha256 not in (None, found):
                out.truncate(0)  # perhaps only the beginning, which lay on this disk, is wrong
                found = await fetch()
            if sha256 not in (None, found):
                raise WrongFileError(f"found SHA-256 {found}; expected {sha256}")
            done = out.seek(0, os.SEEK_END)
        part.replace(path)
    except HttpError as error:
        kept = part.stat().st_size
        if not kept:
            part.unlink()
        raise refusal(url, error, kept) from None
    except OSError as error:
        raise WriteError(
            f"writing {part} failed: {error.strerror or error}. Make room or fix the permissions, "
            "then try again; what has arrived is kept"
        ) from error
    except WrongFileError as error:
        part.unlink(missing_ok=True)
        raise InputError(
            f"{shown(url)} is not what was expected: {error}. Nothing was kept; the origin has "
            "changed or something between here and there alters files"
        ) from None
    finally:
        await client.close()
    return Downloaded(path, done, found)


def open_client(headers: Mapping[str, str], attempts: int, backoff: float = 1.0) -> HttpClient:
    secret = headers.get("Authorization", "").rpartition(" ")[2]
    policy = Policy(timeout=_SILENCE_S, max_attempts=attempts, backoff=backoff)
    return HttpClient(policy, secrets=(secret,))


def refusal(url: str, error: HttpError, kept: int = 0) -> TruegroundError:
    """What to say when something could not be fetched; `kept` bytes of it are there."""
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
