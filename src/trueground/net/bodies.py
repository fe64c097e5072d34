"""Bodies that are more than bytes: forms with files, JSON, files on disk."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from trueground.net.failures import HttpReply, TooLargeError, UnusableError, accept, not_json
from trueground.net.files import create_new


@dataclass(frozen=True, slots=True)
class MultipartForm:
    """A multipart form with one file, opened anew for each attempt; aiohttp closes it."""

    fields: Mapping[str, str]
    name: str
    path: Path

    def open(self) -> aiohttp.FormData:
        """The form, ready to be sent once."""
        form = aiohttp.FormData(dict(self.fields))
        form.add_field(self.name, self.path.open("rb"), filename=self.path.name)
        return form


def read_json(reply: HttpReply) -> Any:
    """The parsed body of a reply with status 2xx. Raises StatusError, UnusableError."""
    accept(reply)
    try:
        return orjson.loads(reply.utf8())
    except ValueError:
        raise UnusableError(not_json(reply), status=reply.status) from None


async def whole(response: aiohttp.ClientResponse, limit: int) -> bytes:
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


async def save(response: aiohttp.ClientResponse, path: Path) -> str:
    """Write a body into a file as it comes; its SHA-256 in hex."""
    digest = hashlib.sha256()
    with create_new(path) as out:
        while piece := await response.content.readany():
            digest.update(piece)
            out.write(piece)
    return digest.hexdigest()
