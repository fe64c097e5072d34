"""OpenAI's Batch API, and endpoints that copy it: calls go up in a file and come down in another.

A file of calls is uploaded, a batch is made of it, and within a day its results lie in two files,
one of replies and one of calls that failed, with their lines in any order. A line gives the same
reply, or the same failure, as a live call.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
import orjson

from trueground.files import OutputPath
from trueground.models.base import ChatRequest, Reply, without_secrets
from trueground.models.openai import OpenAIModel
from trueground.models.openai_replies import (
    error_body,
    failed,
    read_reply,
    trouble_in,
    wants_other_limit,
)
from trueground.net import HttpError, HttpReply, Secrets
from trueground.types import Status

T = TypeVar("T")
_WINDOW = "24h"  # the only one that the API knows
_PAGE = 100
_ENDED = {"completed", "failed", "expired", "cancelled"}
_TWICE = "the batch holds several replies to this call, and nothing tells which one is its own"
_SHOWN = 3  # errors of a failed batch that a message quotes
_HEADERS = {"Content-Type": "application/json"}
# The window or the user's patience ended before the call's turn came: nothing was paid.
_NOT_CALLED = {"batch_expired", "batch_cancelled"}


class EndpointBatch(msgspec.Struct):
    """A batch as the endpoint tells of it; what else it tells is not read."""

    id: str
    status: str
    input_file_id: str | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None
    errors: Any = None
    request_counts: Any = None
    metadata: Any = None
    created_at: Any = None
    completed_at: Any = None
    expired_at: Any = None
    cancelled_at: Any = None

    @property
    def ended(self) -> bool:
        return self.status.lower() in _ENDED

    def bears(self, mark: Mapping[str, str]) -> bool:
        found = self.metadata if isinstance(self.metadata, dict) else {}
        return all(found.get(name) == value for name, value in mark.items())

    @property
    def done(self) -> int:
        counts = self.request_counts
        done = counts.get("completed") if isinstance(counts, dict) else 0
        return done if isinstance(done, int) else 0

    @property
    def seconds(self) -> float:
        """From its making to its end; 0 where the endpoint does not say."""
        end = self.completed_at or self.expired_at or self.cancelled_at
        if isinstance(self.created_at, int | float) and isinstance(end, int | float):
            return max(0.0, float(end - self.created_at))
        return 0.0

    @property
    def reason(self) -> str:
        """Its status and what the endpoint finds wrong, in a few words."""
        errors = self.errors.get("data") if isinstance(self.errors, dict) else self.errors
        found = []
        for error in errors if isinstance(errors, list) else []:
            line = error.get("line") if isinstance(error, dict) else None
            if isinstance(error, dict):
                error = error.get("message") or error.get("code")
            words = HttpReply.shorten(str(error).encode())
            found.append(f"{words} (line {line})" if line else words)
        words = "; ".join([word for word in found if word][:_SHOWN])
        nothing = " and has no results" if self.status.lower() == "completed" else ""
        reason = f"batch {self.id} is {self.status}{nothing}" + (f": {words}" if words else "")
        return Secrets().scrub(reason)


class _EndpointFile(msgspec.Struct):
    id: str


class _Page(msgspec.Struct):
    data: list[EndpointBatch]
    has_more: bool = False


class _Response(msgspec.Struct):
    status_code: int
    body: msgspec.Raw = msgspec.Raw(b"null")


class _BatchLine(msgspec.Struct):
    custom_id: str
    response: _Response | None = None
    error: Any = None


_decode = msgspec.json.Decoder(_BatchLine).decode


class BatchResult(NamedTuple):
    """What came of one call; `reply` is None if the model was not asked.

    `other_limit`: the endpoint wants `max_completion_tokens` in the place of `max_tokens`.
    """

    custom_id: str
    reply: Reply | None
    other_limit: bool = False

    @property
    def forbidden(self) -> bool:
        """Whether the endpoint lets nobody ask this, perhaps for what stands in it."""
        return self.reply is not None and (self.reply.error or "").startswith("HTTP 403")


class BatchApi:
    """The endpoint's side of batches, as a model reaches it. Every method raises HttpError."""

    def __init__(self, model: OpenAIModel) -> None:
        self._model = model
        self._client = model.client

    def line(self, custom_id: str, request: ChatRequest, limit_name: str) -> bytes:
        """One line of a file of calls; `limit_name` is what the endpoint calls `max_tokens`.

        Raises UsageError for parameters that cannot be sent, TypeError for what is no JSON.
        """
        body = self._model.body(request)
        if "max_tokens" in body:
            body[limit_name] = body.pop("max_tokens")
        url = "/v1/chat/completions" if "messages" in body else "/v1/completions"
        call = {"custom_id": custom_id, "method": "POST", "url": url, "body": body}
        return orjson.dumps(call) + b"\n"

    async def upload(self, path: Path) -> str:
        """Send a file of calls; its id. OSError if it cannot be read."""
        fields = {"purpose": "batch"}
        read = _reader(_EndpointFile)
        return (await self._client.upload(self._url("files"), path, fields, read)).id

    async def create(self, file_id: str, url: str, mark: Mapping[str, str]) -> EndpointBatch:
        """Make a batch of an uploaded file, once, however often the attempt fails.

        `url` is that of its lines; `mark` stays with the batch.
        """
        body = orjson.dumps(
            {
                "input_file_id": file_id,
                "endpoint": url,
                "completion_window": _WINDOW,
                "metadata": dict(mark),
            }
        )

        async def make() -> EndpointBatch:
            # A batch whose reply was lost exists and will be paid for: before a second attempt it
            # is looked for, which the client's own retries cannot do.
            read = _reader(EndpointBatch)
            batch = await self._client.post(self._url("batches"), body, read, once=True)
            return _check_own(batch, batch.id, file_id)

        async def find_or_make() -> EndpointBatch:
            return await self.find(file_id, mark) or await make()

        try:
            return await make()
        except HttpError as error:
            if not error.retryable:
                raise
            deadline = time.monotonic() + self._client.policy.deadline
            return await self._client.retry(find_or_make, error, deadline)

    async def find(self, file_id: str, mark: Mapping[str, str]) -> EndpointBatch | None:
        """The batch that was made of this file or bears this mark; None if there is none."""
        query = f"limit={_PAGE}"
        while True:
            url = self._url("batches")
            address = f"{url}{'&' if '?' in url else '?'}{query}"
            page = await self._client.get(address, _reader(_Page))
            for batch in page.data:
                if batch.input_file_id == file_id or batch.bears(mark):
                    return batch
            if not page.data or not page.has_more:
                return None
            query = f"limit={_PAGE}&after={page.data[-1].id}"

    async def get(self, batch_id: str, file_id: str | None = None) -> EndpointBatch:
        """The batch as it is now; `file_id` is that of its calls, if known."""
        found = await self._client.get(self._url(f"batches/{batch_id}"), _reader(EndpointBatch))
        return _check_own(found, batch_id, file_id)

    async def results(self, batch: EndpointBatch, path: Path) -> AsyncIterator[BatchResult]:
        """What came of the calls of a batch that has ended; `path` is a file to use meanwhile.

        A line that cannot be read is left out: its call counts as not asked. A call with several
        different replies has failed. Raises OSError.
        """
        for file_id in (batch.output_file_id, batch.error_file_id):
            if not file_id:
                continue
            with OutputPath(path).write_atomically() as out:
                await self._client.download(self._url(f"files/{file_id}/content"), out)
            first: dict[str, bytes] = {}
            twice = set()
            with path.open("rb") as lines:
                for line in lines:
                    if (found := _parse(line)) is not None:
                        digest = hashlib.blake2b(line.strip(), digest_size=16).digest()
                        if first.setdefault(found.custom_id, digest) != digest:
                            twice.add(found.custom_id)
                lines.seek(0)
                for line in lines:
                    result = read_line(line, self._model.endpoint.secrets)
                    if result is not None and result.custom_id not in twice:
                        yield result
            for name in sorted(twice):
                yield BatchResult(name, Reply(status=Status.ERROR, error=_TWICE))

    def _url(self, path: str) -> str:
        return self._model.endpoint.url(path)


def read_line(line: bytes, secrets: tuple[str, ...] = ()) -> BatchResult | None:
    """The result on a line; None for a line that is none. No secret shows in it."""
    found = _parse(Secrets(secrets).hide(line))
    if found is None:
        return None
    response = found.response
    try:
        if response is not None and response.status_code:
            reply = HttpReply(response.status_code, _HEADERS, bytes(response.body))
            return BatchResult(found.custom_id, without_secrets(read_reply(reply), secrets))
        trouble = trouble_in({"error": found.error})
        if trouble.codes & _NOT_CALLED:
            return BatchResult(found.custom_id, None)
        reason = f"the batch holds no reply to this call: {trouble.words or 'no reason given'}"
        body = error_body(found.error) if found.error else b""
        raise HttpError(reason, retryable=False, body=body)
    except HttpError as error:
        lost = without_secrets(failed(error), secrets)
        return BatchResult(found.custom_id, lost, wants_other_limit(error))


def _parse(line: bytes) -> _BatchLine | None:
    try:
        return _decode(line)
    except (ValueError, RecursionError):
        pass
    try:  # what strict JSON forbids and endpoints write, such as NaN
        value = json.loads(line.decode("utf-8", "replace"))
        body = value["response"].pop("body", None)
        found = msgspec.convert(value, _BatchLine)
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return None
    if found.response is not None:
        found.response.body = msgspec.Raw(json.dumps(body).encode())
    return found


def _check_own(batch: EndpointBatch, batch_id: str, file_id: str | None) -> EndpointBatch:
    """The batch itself, if it is the one that was asked for. Raises HttpError."""
    unknown = None in (file_id, batch.input_file_id)
    if batch.id == batch_id and (unknown or batch.input_file_id == file_id):
        return batch
    raise HttpError(f"the endpoint tells of batch {batch.id} where {batch_id} was asked for")


def _reader(kind: type[T]) -> Callable[[HttpReply], T]:
    """What reads a reply as an object of the API. The reader raises HttpError."""

    def read(reply: HttpReply) -> T:
        try:
            return msgspec.convert(reply.json(), kind)
        except msgspec.ValidationError as error:
            reason = f"the endpoint's reply has another shape than the Batch API's: {error}"
            raise HttpError(reason, retryable=False) from None

    return read
