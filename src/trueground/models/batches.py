"""OpenAI's Batch API, and endpoints that copy it: calls go up in a file and come down in another.

A file of calls is uploaded, a batch is made of it, and within a day its results lie in two files,
one of replies and one of calls that failed, with their lines in any order.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

import msgspec
import orjson

from trueground.models.base import ChatRequest, Reply
from trueground.models.batch_lines import BatchResult, read_line, told_twice
from trueground.models.endpoint import Endpoint
from trueground.net.failures import HttpError, HttpReply, UnusableError, readable
from trueground.net.files import write_atomically
from trueground.net.http import FileForm, HttpClient, read_json
from trueground.net.redact import scrub
from trueground.types import Status

T = TypeVar("T")
_WINDOW = "24h"  # the only one that the API knows
_PAGE = 100
_ENDED = {"completed", "failed", "expired", "cancelled"}
_TWICE = "the batch holds several replies to this call, and nothing tells which one is its own"
_SHOWN = 3  # errors of a failed batch that a message quotes


@runtime_checkable
class BatchModel(Protocol):
    """A model whose calls can go through batches, with the bodies of its live calls."""

    name: str
    client: HttpClient
    endpoint: Endpoint

    def body(self, request: ChatRequest) -> dict[str, Any]:
        """The call as JSON."""
        ...


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
        """Whether nothing more will come of it."""
        return self.status.lower() in _ENDED

    def bears(self, mark: Mapping[str, str]) -> bool:
        """Whether it was made with this mark."""
        found = self.metadata if isinstance(self.metadata, dict) else {}
        return all(found.get(name) == value for name, value in mark.items())

    @property
    def done(self) -> int:
        """How many of its calls have been answered so far."""
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
        found = [_words(error) for error in errors] if isinstance(errors, list) else []
        words = "; ".join([word for word in found if word][:_SHOWN])
        nothing = " and has no results" if self.status.lower() == "completed" else ""
        told = f"batch {self.id} is {self.status}{nothing}" + (f": {words}" if words else "")
        return scrub(told)


class _EndpointFile(msgspec.Struct):
    id: str


class _Page(msgspec.Struct):
    data: list[EndpointBatch]
    has_more: bool = False


class BatchApi:
    """The endpoint's side of batches, as a model reaches it. Every method raises HttpError."""

    def __init__(self, model: BatchModel) -> None:
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
        form = FileForm({"purpose": "batch"}, "file", path)
        return (await self._client.post(self._url("files"), form, _reader(_EndpointFile))).id

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
            made = await self._client.post(self._url("batches"), body, read, once=True)
            return _own(made, made.id, file_id)

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
        after = ""
        while True:
            page = await self._client.get(self._url("batches", after), _reader(_Page))
            for batch in page.data:
                if batch.input_file_id == file_id or batch.bears(mark):
                    return batch
            if not page.data or not page.has_more:
                return None
            after = page.data[-1].id

    async def get(self, batch_id: str, file_id: str | None = None) -> EndpointBatch:
        """The batch as it is now; `file_id` is that of its calls, if known."""
        found = await self._client.get(self._url(f"batches/{batch_id}"), _reader(EndpointBatch))
        return _own(found, batch_id, file_id)

    async def results(self, batch: EndpointBatch, path: Path) -> AsyncIterator[BatchResult]:
        """What came of the calls of a batch that has ended; `path` is a file to use meanwhile.

        A line that cannot be read is left out: its call counts as not asked. A call with several
        replies has failed. Raises OSError.
        """
        for file_id in (batch.output_file_id, batch.error_file_id):
            if not file_id:
                continue
            with write_atomically(path) as out:
                await self._client.download(self._url(f"files/{file_id}/content"), out)
            with path.open("rb") as lines:
                twice = told_twice(lines)
                lines.seek(0)
                for line in lines:
                    result = read_line(line, self._model.endpoint.secrets)
                    if result is not None and result.custom_id not in twice:
                        yield result
            for name in sorted(twice):
                yield BatchResult(name, Reply(status=Status.ERROR, error=_TWICE))

    def _url(self, path: str, after: str | None = None) -> str:
        url = self._model.endpoint.url(path)
        if after is None:
            return url
        joint = "&" if "?" in url else "?"
        return f"{url}{joint}limit={_PAGE}" + (f"&after={after}" if after else "")


def _own(batch: EndpointBatch, batch_id: str, file_id: str | None) -> EndpointBatch:
    """The batch itself, if it is the one that was asked for. Raises UnusableError."""
    if batch.id == batch_id and None in (file_id, batch.input_file_id):
        return batch
    if (batch.id, batch.input_file_id) == (batch_id, file_id):
        return batch
    raise UnusableError(f"the endpoint tells of batch {batch.id} where {batch_id} was asked for")


def _reader(kind: type[T]) -> Callable[[HttpReply], T]:
    """What reads a reply as an object of the API. The reader raises HttpError."""

    def read(reply: HttpReply) -> T:
        try:
            return msgspec.convert(read_json(reply), kind)
        except msgspec.ValidationError as error:
            reason = f"the endpoint's reply has another shape than the Batch API's: {error}"
            raise UnusableError(reason, retryable=False) from None

    return read


def _words(error: Any) -> str:
    """What one error of a failed batch says, and to which line of the file."""
    if not isinstance(error, dict):
        return readable(str(error).encode())
    words = readable(str(error.get("message") or error.get("code")).encode())
    line = error.get("line")
    return f"{words} (line {line})" if line else words
