"""responses.jsonl: one line per reply, written the moment it arrives, never changed afterwards.

The file is what a killed run resumes from. A line that was cut by the kill is cut off; a later line
for an id stands in the place of earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

import msgspec

from trueground.errors import InputError
from trueground.models import (
    Reply,
    TokenLogprob,
    TokenUsage,
)
from trueground.runs.directory import AppendFile
from trueground.runs.schema import Manifest, TokenSums
from trueground.types import Status

# What a line has from its reply as it is.
_OF_REPLY = (
    *("finish_reason", "status", "error", "reasoning", "refusal", "model", "usage", "logprobs"),
)
_encode = msgspec.json.Encoder().encode


class Response(msgspec.Struct, kw_only=True):
    """One line. `response` is None for a call that failed; `latency_s` None for one not made now.

    `status` says why there is no whole answer (see Reply); `cached` that it came from the cache;
    `calls` how often the endpoint was called for it, then or now.
    """

    id: str
    prompt_sha256: str
    response: str | None
    finish_reason: str | None
    usage: TokenUsage
    latency_s: float | None
    error: str | None
    status: Status | None = None
    cached: bool = False
    refusal: bool = False
    reasoning: str | None = None
    model: str | None = None
    logprobs: list[TokenLogprob] | None = None
    calls: int = 1

    @classmethod
    def of(
        cls, id_: str, prompt: str, reply: Reply, latency_s: float | None, cached: bool
    ) -> Response:
        """The line of a reply."""
        lost = reply.status not in (None, Status.TRUNCATED)
        told = msgspec.structs.asdict(reply.normalized())
        return cls(
            id=id_,
            prompt_sha256=prompt,
            response=None if lost else told["text"],
            latency_s=None if latency_s is None else round(latency_s, 6),
            cached=cached,
            **{name: told[name] for name in (*_OF_REPLY, "calls")},
        )

    @property
    def text(self) -> str:
        """The response as other files can hold it; empty for a call that failed."""
        return Reply(text=self.response or "").normalized().text

    def reply(self) -> Reply:
        """The reply that the line was made of."""
        return Reply(text=self.response or "", **{name: getattr(self, name) for name in _OF_REPLY})


class _Head(msgspec.Struct):
    """What the index needs of a line."""

    id: str
    prompt_sha256: str
    status: str | None = None
    finish_reason: str | None = None
    usage: TokenUsage = TokenUsage()
    latency_s: float | None = None
    cached: bool = False
    calls: int = 1


@dataclass
class Paid:
    """What a run's calls came to, over all sessions and all attempts at an item.

    `calls` are all attempts that came to the endpoint; `cache_hits` replies that the cache had,
    which cost nothing.
    """

    calls: int = 0
    cache_hits: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0

    def add(self, line: _Head | Response) -> None:
        """Count one line; one without a latency comes from the cache or a file of replies."""
        self.cache_hits += line.cached
        if line.latency_s is not None and not line.cached:
            self.calls += line.calls
            usage = line.usage.clamped()
            self.tokens_in += usage.tokens_in
            self.tokens_out += usage.tokens_out
            self.tokens_cached += usage.cached

    def write_to(self, manifest: Manifest) -> None:
        """Write the counts into the manifest of the run."""
        manifest.calls, manifest.cache_hits = self.calls, self.cache_hits
        manifest.tokens = TokenSums(self.tokens_in, self.tokens_out, self.tokens_cached)


_decode = msgspec.json.Decoder(Response).decode
_decode_head = msgspec.json.Decoder(_Head).decode


class _Entry(NamedTuple):
    """Where an item's last line begins, the hash of its prompt, and whether the call failed.

    Without a prompt the model was never reached, so that the item counts as not asked.
    """

    at: int
    prompt: bytes
    failed: bool


class ResponseIndex:
    """The lines of responses.jsonl that count, by the ids of the items; their texts stay on disk.

    `paid` counts all lines, `size` is where the last whole line ends.
    """

    def __init__(self, path: Path) -> None:
        """Read the file, if it is there; changes nothing. InputError: a line that is no reply."""
        self.path = path
        self.paid = Paid()
        self.size = 0
        self._entries: dict[str, _Entry] = {}
        if not path.exists():
            return
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    break
                try:
                    self._add(_decode_head(line), len(line))
                except (msgspec.DecodeError, ValueError) as error:
                    raise _no_reply(f"{path}, line {number}", error) from None

    def _add(self, head: _Head | Response, size: int) -> None:
        """Take a line; one that never reached the model takes no answer's place."""
        failed = head.status == Status.ERROR  # a prompt that is too long stays so
        if head.finish_reason != Reply.UNREACHABLE:
            prompt = bytes.fromhex(head.prompt_sha256)
            self._entries[head.id] = _Entry(self.size, prompt, failed)
        elif head.id not in self._entries or self._entries[head.id].failed:
            self._entries[head.id] = _Entry(self.size, b"", True)
        self.paid.add(head)
        self.size += size

    def has(self, id_: str, prompt: str, *, retry_failed: bool = False) -> bool:
        """Whether this prompt has been answered, or has failed and is not to be tried again."""
        entry = self._entries.get(id_)
        if entry is None or entry.prompt != bytes.fromhex(prompt):
            return False
        return not (retry_failed and entry.failed)

    def __len__(self) -> int:
        return len(self._entries)


class ResponseLog(ResponseIndex):
    """The replies of one run: appended to, and read by id. Holds an index, not the texts."""

    def __init__(self, path: Path) -> None:
        """Open what is there and fix its end. Raises InputError for a line that is no reply."""
        super().__init__(path)
        self._out = AppendFile(path, self.size)
        self._in = path.open("rb")

    def append(self, response: Response) -> None:
        """Write one line. Raises WriteError."""
        line = _encode(response) + b"\n"
        self.size = self._out.size  # also after an interrupt between the two steps below
        self._out.append(line)
        self._add(response, len(line))

    def get(self, id_: str) -> Response | None:
        """The reply of an item; None where there is none."""
        entry = self._entries.get(id_)
        if entry is None:
            return None
        self._in.seek(entry.at)
        try:
            return _decode(self._in.readline())
        except msgspec.DecodeError as error:
            raise _no_reply(f"{self.path}, the line of {id_!r}", error) from None

    def reply_of(self, id_: str) -> Reply | None:
        """Return the reply of an item as the model gave it; None if there is none."""
        response = self.get(id_)
        return None if response is None else response.reply()

    def __iter__(self) -> Iterator[Response]:
        """The replies that count, in the order of their ids' first arrival."""
        for id_ in self._entries:
            response = self.get(id_)
            assert response is not None
            yield response

    def close(self) -> None:
        """Every line is in the file already."""
        self._out.close()
        self._in.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def _no_reply(place: str, error: Exception) -> InputError:
    return InputError(
        f"{place}: not a reply ({error}). Restore the line, or delete it; the item is then asked "
        "again"
    )
