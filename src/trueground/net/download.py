"""Download files from any address; an interrupted download is resumed.

While it is incomplete, a download is in a hidden `.part` file next to the target. Its name depends
on the address, so only the same download is resumed. The target is created after the checksum was
verified. The client of the Hugging Face Hub isn't used, because it neither resumes downloads nor
verifies checksums.
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

MAX_SILENCE_SECONDS = 60.0  # Without data for this time, a connection counts as broken.


@dataclass(frozen=True)
class Downloaded:
    """A downloaded file, with size in bytes and SHA-256 in hex."""

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
    """Download an address into a file, and resume an earlier download.

    Args:
        url: The address.
        path: The file.
        headers: Headers of the request. Credentials aren't sent to another host after a redirect.
        sha256: Expected SHA-256 in hex.
        size: Expected size in bytes.
        progress: Called with the bytes so far and in total.
        max_attempts: Maximum attempts.
        backoff: Maximum seconds before the second attempt.

    Raises:
        InputError: The address doesn't exist, or the file isn't the expected one.
        UnreachableError: All attempts failed.
        WriteError: The file can't be written.
        UsageError: Another process is downloading it.
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
                    f"another process is writing {part}. Wait until it has finished"
                ) from None
            resumed = out.tell() > 0

            async def fetch() -> str:
                return await client.download(
                    url, out, headers=headers, size=size, progress=progress, resume=True
                )

            digest = await fetch()
            if resumed and sha256 not in (None, digest):
                out.truncate(0)  # Perhaps only the beginning from an earlier download is wrong.
                digest = await fetch()
            if sha256 not in (None, digest):
                raise WrongFileError(f"found SHA-256 {digest}; expected {sha256}")
            done = out.seek(0, os.SEEK_END)
        part.replace(path)
    except HttpError as error:
        kept = part.stat().st_size
        if not kept:
            part.unlink()
        raise refusal(url, error, kept) from None
    except OSError as error:
        raise WriteError(
            f"writing {part} failed: {error.strerror or error}. Free disk space or fix the "
            "permissions, then try again to resume the download"
        ) from error
    except WrongFileError as error:
        part.unlink(missing_ok=True)
        raise InputError(
            f"{shown(url)} isn't the expected file: {error}. The download was deleted. The file "
            "may have changed at its source, or a proxy alters it"
        ) from None
    finally:
        await client.close()
    return Downloaded(path, done, digest)


def open_client(headers: Mapping[str, str], attempts: int, backoff: float = 1.0) -> HttpClient:
    secret = headers.get("Authorization", "").rpartition(" ")[2]
    policy = Policy(timeout=MAX_SILENCE_SECONDS, max_attempts=attempts, backoff=backoff)
    return HttpClient(policy, secrets=(secret,))


def refusal(url: str, error: HttpError, kept: int = 0) -> TruegroundError:
    """Return the error for a failed download; `kept` is the number of bytes in the `.part` file."""
    address = shown(url)
    if error.status in (401, 403):
        return UnreachableError(
            f"access to {address} is denied: {error}. Check the name. If the data are gated, "
            "accept their terms and set HF_TOKEN"
        )
    if error.status in (404, 410):
        return InputError(f"{address} doesn't exist: {error}")
    resume = f" The next attempt resumes after {kept:,} bytes." if kept else ""
    return UnreachableError(
        f"downloading {address} failed: {error}.{resume} Check the connection (and HTTPS_PROXY, if "
        "you use a proxy) and try again, or use a local copy with --from PATH"
    )
