"""OpenAI's Batch API, also of other endpoints: requests and results are files.

You upload a file of requests and create a batch of it. Within a day there are two files of results:
replies, and requests that failed, in any order. A line has the same reply, or the same error, as a
call without a batch.
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
    parse_error,
    read_reply,
    wants_other_limit,
)
from trueground.net import HttpError, HttpReply, Secrets
from trueground.types import Status

T = TypeVar("T")
_WINDOW = "24h"  # The only value that the API accepts.
PAGE_SIZE = 100
_ENDED = {"completed", "failed", "expired", "cancelled"}
_AMBIGUOUS = "the batch has several replies to this request, so none is used"
MAX_SHOWN_ERRORS = 3
_HEADERS = {"Content-Type": "application/json"}
# The batch expired or was canceled before these requests were processed, so they cost nothing.
_NOT_CALLED = {"batch_expired", "batch_cancelled"}


class EndpointBatch(msgspec.Struct):
    """A batch, with the fields of the endpoint's description that are used."""

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

    def has_metadata(self, mark: Mapping[str, str]) -> bool:
        metadata = self.metadata if isinstance(self.metadata, dict) else {}
        return all(metadata.get(name) == value for name, value in mark.items())

    @property
    def done(self) -> int:
        counts = self.request_counts
        done = counts.get("completed") if isinstance(counts, dict) else 0
        return done if isinstance(done, int) else 0

    @property
    def seconds(self) -> float:
        """Seconds from creation to end; 0 if the endpoint doesn't report them."""
        end = self.completed_at or self.expired_at or self.cancelled_at
        if isinstance(self.created_at, int | float) and isinstance(end, int | float):
            return max(0.0, float(end - self.created_at))
        return 0.0

    @property
    def reason(self) -> str:
        """Its status and the first errors that the endpoint reports."""
        errors = self.errors.get("data") if isinstance(self.errors, dict) else self.errors
        messages = []
        for error in errors if isinstance(errors, list) else []:
            line = error.get("line") if isinstance(error, dict) else None
            if isinstance(error, dict):
                error = error.get("message") or error.get("code")
            message = HttpReply.shorten(str(error).encode())
            messages.append(f"{message} (line {line})" if line else message)
        reason = f"batch {self.id} is {self.status}"
        if self.status.lower() == "completed":
            reason += " and has no results"
        first_messages = [message for message in messages if message][:MAX_SHOWN_ERRORS]
        if first_messages:
            reason += f": {'; '.join(first_messages)}"
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
    """The result of one request in a batch.

    Attributes:
        custom_id: The id of the request in the batch.
        reply: The reply. None if the request wasn't processed.
        other_limit: Whether the endpoint requires `max_completion_tokens`, not `max_tokens`.
    """

    custom_id: str
    reply: Reply | None
    other_limit: bool = False

    @property
    def forbidden(self) -> bool:
        """Whether the endpoint rejected the request with 403, perhaps because of its content."""
        return self.reply is not None and (self.reply.error or "").startswith("HTTP 403")


class BatchApi:
    """The Batch API of a model's endpoint. Every method raises HttpError."""

    def __init__(self, model: OpenAIModel) -> None:
        self._model = model
        self._client = model.client

    def line(self, custom_id: str, request: ChatRequest, limit_name: str) -> bytes:
        """Return one line of a file of requests.

        Args:
            custom_id: The id of the request.
            request: The request.
            limit_name: The endpoint's name of `max_tokens`.

        Raises:
            UsageError: A parameter can't be sent.
            TypeError: The request can't be written as JSON.
        """
        body = self._model.body(request)
        if "max_tokens" in body:
            body[limit_name] = body.pop("max_tokens")
        url = "/v1/chat/completions" if "messages" in body else "/v1/completions"
        call = {"custom_id": custom_id, "method": "POST", "url": url, "body": body}
        return orjson.dumps(call) + b"\n"

    async def upload(self, path: Path) -> str:
        """Upload a file of requests and return its id. OSError if it can't be read."""
        fields = {"purpose": "batch"}
        read = _reader(_EndpointFile)
        return (await self._client.upload(self._url("files"), path, fields, read)).id

    async def create(self, file_id: str, url: str, mark: Mapping[str, str]) -> EndpointBatch:
        """Create a batch of an uploaded file, only once even if an attempt fails.

        Args:
            file_id: The id of the file.
            url: The URL in its lines.
            mark: Metadata of the batch, by which `find` recognizes it.
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
            # If only the reply was lost, the batch exists and will be paid for. So search for it
            # before a second attempt, which the client's retries can't do.
            read = _reader(EndpointBatch)
            batch = await self._client.post(self._url("batches"), body, read, once=True)
            return _check_own(batch, batch.id, file_id)

        async def find_or_create() -> EndpointBatch:
            return await self.find(file_id, mark) or await make()

        try:
            return await make()
        except HttpError as error:
            if not error.retryable:
                raise
            deadline = time.monotonic() + self._client.policy.deadline
            return await self._client.retry(find_or_create, error, deadline)

    async def find(self, file_id: str, mark: Mapping[str, str]) -> EndpointBatch | None:
        """The batch that was created from a file or has this metadata, or None."""
        query = f"limit={PAGE_SIZE}"
        while True:
            url = self._url("batches")
            address = f"{url}{'&' if '?' in url else '?'}{query}"
            page = await self._client.get(address, _reader(_Page))
            for batch in page.data:
                if batch.input_file_id == file_id or batch.has_metadata(mark):
                    return batch
            if not page.data or not page.has_more:
                return None
            query = f"limit={PAGE_SIZE}&after={page.data[-1].id}"

    async def get(self, batch_id: str, file_id: str | None = None) -> EndpointBatch:
        """Return the current state of a batch; `file_id` is the file of its requests, if known."""
        batch = await self._client.get(self._url(f"batches/{batch_id}"), _reader(EndpointBatch))
        return _check_own(batch, batch_id, file_id)

    async def results(self, batch: EndpointBatch, path: Path) -> AsyncIterator[BatchResult]:
        """Yield the results of a batch that has ended.

        A line that can't be parsed is skipped, so its request counts as not processed. A request
        with several different replies has failed.

        Args:
            batch: The batch.
            path: A temporary file.

        Raises:
            OSError: The file can't be written.
        """
        for file_id in (batch.output_file_id, batch.error_file_id):
            if not file_id:
                continue
            with OutputPath(path).write_atomically() as out:
                await self._client.download(self._url(f"files/{file_id}/content"), out)
            first: dict[str, bytes] = {}
            ambiguous = set()
            with path.open("rb") as lines:
                for line in lines:
                    parsed = _parse(line)
                    if parsed is not None:
                        digest = hashlib.blake2b(line.strip(), digest_size=16).digest()
                        if first.setdefault(parsed.custom_id, digest) != digest:
                            ambiguous.add(parsed.custom_id)
                lines.seek(0)
                for line in lines:
                    result = read_line(line, self._model.endpoint.secrets)
                    if result is not None and result.custom_id not in ambiguous:
                        yield result
            for name in sorted(ambiguous):
                yield BatchResult(name, Reply(status=Status.ERROR, error=_AMBIGUOUS))

    def _url(self, path: str) -> str:
        return self._model.endpoint.url(path)


def read_line(line: bytes, secrets: tuple[str, ...] = ()) -> BatchResult | None:
    """Return the result on a line, without secrets; None if the line can't be parsed."""
    parsed = _parse(Secrets(secrets).hide(line))
    if parsed is None:
        return None
    response = parsed.response
    try:
        if response is not None and response.status_code:
            reply = HttpReply(response.status_code, _HEADERS, bytes(response.body))
            return BatchResult(parsed.custom_id, without_secrets(read_reply(reply), secrets))
        details = parse_error({"error": parsed.error})
        if details.codes & _NOT_CALLED:
            return BatchResult(parsed.custom_id, None)
        reason = f"the batch has no reply to this request: {details.message or 'no reason given'}"
        body = error_body(parsed.error) if parsed.error else b""
        raise HttpError(reason, retryable=False, body=body)
    except HttpError as error:
        failure = without_secrets(failed(error), secrets)
        return BatchResult(parsed.custom_id, failure, wants_other_limit(error))


def _parse(line: bytes) -> _BatchLine | None:
    try:
        return _decode(line)
    except (ValueError, RecursionError):
        pass
    try:  # Some endpoints write NaN, which strict JSON forbids.
        value = json.loads(line.decode("utf-8", "replace"))
        body = value["response"].pop("body", None)
        parsed = msgspec.convert(value, _BatchLine)
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return None
    if parsed.response is not None:
        parsed.response.body = msgspec.Raw(json.dumps(body).encode())
    return parsed


def _check_own(batch: EndpointBatch, batch_id: str, file_id: str | None) -> EndpointBatch:
    """Return the batch if it is the requested one. Raises HttpError."""
    unknown = None in (file_id, batch.input_file_id)
    if batch.id == batch_id and (unknown or batch.input_file_id == file_id):
        return batch
    raise HttpError(f"the endpoint returned batch {batch.id}; expected {batch_id}")


def _reader(kind: type[T]) -> Callable[[HttpReply], T]:
    """Return a function that parses a reply as an object of the API, or raises HttpError."""

    def read(reply: HttpReply) -> T:
        try:
            return msgspec.convert(reply.json(), kind)
        except msgspec.ValidationError as error:
            reason = f"the endpoint's reply doesn't match the Batch API: {error}"
            raise HttpError(reason, retryable=False) from None

    return read
