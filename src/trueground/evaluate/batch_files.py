"""The files in which calls go to an endpoint's batches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import orjson

from trueground.net.files import opened_new

_PLAIN = re.compile(r"[!-~]{1,64}")


@dataclass(frozen=True)
class Limits:
    """What fits into one file. OpenAI takes 50,000 calls and 200 MB."""

    requests: int = 50_000
    bytes: int = 190_000_000

    def allow(self, requests: int, size: int) -> bool:
        """Whether a file may hold so much; one call is always allowed, however long."""
        return requests <= 1 or (requests <= self.requests and size <= self.bytes)


class Written(NamedTuple):
    """A file of calls on disk; `url` is that of its lines."""

    sha256: str
    requests: int
    url: str


def custom_id(item: str) -> str:
    """An item's name in a batch: its id where that is plain and short, else a hash of it."""
    return item if _PLAIN.fullmatch(item) else sha256(item.encode()).hexdigest()


def write_files(lines: Iterator[bytes], path: Path, limits: Limits) -> Iterator[Written]:
    """Fill the file, give it out, fill it anew, until the lines end. Raises OSError."""
    line = next(lines, None)
    while line is not None:
        url = orjson.loads(line)["url"]
        digest, number, size = sha256(), 0, 0
        with opened_new(path) as out:
            while line is not None and limits.allow(number + 1, size + len(line)):
                out.write(line)
                digest.update(line)
                number, size = number + 1, size + len(line)
                line = next(lines, None)
        yield Written(digest.hexdigest(), number, url)
