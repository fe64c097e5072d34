"""The replies that a build paid for, each on disk before anything is made of it.

Killed between two calls for an item, a build takes those that came from here: the response cache
commits in batches and may be off or cleared.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from trueground.models.base import Reply
from trueground.runs.directory import AppendFile
from trueground.types import Status

_KEPT = (None, Status.TRUNCATED)
_encode = msgspec.json.Encoder().encode


class PaidReply(msgspec.Struct, omit_defaults=True):
    """One reply, or the log-probabilities of a text, and under which key they were asked for."""

    key: str
    role: str
    model: str
    reply: Reply | None = None
    logprobs: list[float] | None = None


class ReplyLog:
    """A file of replies, found by their keys; only where they stand is kept in memory."""

    def __init__(self, path: Path) -> None:
        """Opens the file, or begins it. Raises WriteError."""
        self._path = path
        self._places: dict[str, int] = {}
        size = read_log(path, self._note) if path.exists() else 0
        self._file = AppendFile(path, size)

    def get(self, key: str) -> PaidReply | None:
        """What was paid for under the key; None if there is nothing that can be read."""
        place = self._places.get(key)
        if place is None:
            return None
        with self._path.open("rb") as file:
            file.seek(place)
            try:
                return _decode(file.readline())
            except (msgspec.MsgspecError, UnicodeDecodeError):
                return None

    def put(self, paid: PaidReply) -> None:
        """Keep a reply that is whole or truncated: others may do better next time. WriteError."""
        if paid.reply is None or paid.reply.status in _KEPT:
            place = self._file.size
            self._file.append(_encode(paid) + b"\n")
            self._places[paid.key] = place

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _note(self, line: bytes, place: int) -> None:
        self._places[_decode(line).key] = place


_decode = msgspec.json.Decoder(PaidReply).decode


def read_log(path: Path, take: Callable[[bytes, int], None]) -> int:
    """Hand every whole line and its place over; how many bytes they have.

    A line that `take` cannot decode (msgspec.MsgspecError) is passed over: what stands behind it
    was paid for too. A last line without its end was cut off, and does not count.
    """
    size = 0
    with path.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                break
            with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                take(line, size)
            size += len(line)
    return size
