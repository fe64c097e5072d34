"""Send requests through an endpoint's batches: slower, cheaper, and nothing is submitted twice.

Requests go out in rounds, each in as many parts as it needs. The next round begins when every part
of the last, or of a session that was killed, has been collected. Then it is certain which requests
have no reply yet. The state is saved before and after everything that must not happen twice, so
that a run that was killed knows which parts the endpoint has.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec
import orjson

from trueground.errors import RunInterrupted, UnreachableError, UsageError
from trueground.files import OutputPath
from trueground.models.base import ChatModel, Reply
from trueground.models.batches import BatchApi, EndpointBatch
from trueground.models.openai import OpenAIModel
from trueground.models.runner import ModelRequest, ReplySlot, RequestRunner
from trueground.net import HttpError, Secrets
from trueground.types import Status

# What goes into one file of calls. OpenAI takes 50,000 calls and 200 MB.
MAX_REQUESTS, MAX_BYTES = 50_000, 190_000_000
_MAX_TOKENS = "max_tokens"
MAX_POLL_SECONDS = 60.0
_POLL_GROWTH = 1.5
MAX_FAILED_POLLS = 20  # Failed polls in a row until an endpoint counts as unreachable.
_PLAIN = re.compile(r"[!-~]{1,64}")


class BatchPart(msgspec.Struct):
    """One file of calls at the endpoint, and the batch that consists of it.

    `url` is that of its lines, `limit_name` what they call `max_tokens`. `status` is `uploaded`,
    then whatever the endpoint last said of the batch.
    """

    number: int
    sha256: str
    requests: int
    url: str
    limit_name: str
    input_file_id: str
    batch_id: str | None = None
    status: str = "uploaded"
    collected: bool = False


class BatchState(msgspec.Struct):
    """The batches of a run. `token` marks them at the endpoint."""

    token: str
    limit_name: str = _MAX_TOKENS
    parts: list[BatchPart] = []

    @classmethod
    def new(cls) -> BatchState:
        """Return the state of a run that has submitted nothing."""
        return cls(secrets.token_hex(16))

    @property
    def under_way(self) -> list[BatchPart]:
        """The parts whose results have not been taken yet."""
        return [part for part in self.parts if not part.collected]


class BatchStateStore(Protocol):
    """Where a run keeps the state of its batches."""

    def load(self) -> BatchState:
        """Return the saved state, or a new one. Raises InputError."""
        ...

    def save(self, state: BatchState) -> None:
        """Save the state. Raises WriteError."""
        ...


class RequestFile(NamedTuple):
    """A file of requests on disk; `url` is that of its lines."""

    sha256: str
    requests: int
    url: str


def custom_id(item: str) -> str:
    """An item's name in a batch: its id where that is plain and short, else a hash of it."""
    return item if _PLAIN.fullmatch(item) else sha256(item.encode()).hexdigest()


def write_files(lines: Iterator[bytes], path: Path) -> Iterator[RequestFile]:
    """Fill the file, yield it, fill it anew, until the lines end. Raises OSError.

    One call is always allowed in a file, however long.
    """
    line = next(lines, None)
    while line is not None:
        url = orjson.loads(line)["url"]
        digest, number, size = sha256(), 0, 0
        with OutputPath(path).open_no_follow("xb", replace=True) as out:
            while line is not None and (
                not number or (number < MAX_REQUESTS and size + len(line) <= MAX_BYTES)
            ):
                out.write(line)
                digest.update(line)
                number, size = number + 1, size + len(line)
                line = next(lines, None)
        yield RequestFile(digest.hexdigest(), number, url)


class BatchRequestRunner:
    """Sends requests through batches; a `RequestRunner` keeps the replies."""

    def __init__(
        self,
        runner: RequestRunner,
        state: BatchStateStore,
        folder: Path,
        *,
        poll_seconds: float,
        time_limit: float | None = None,
        progress: Callable[[int], None] = lambda _done: None,
    ) -> None:
        """Load the state.

        Args:
            runner: The runner of the same model.
            state: Where the state of the batches is kept.
            folder: A folder for files of requests and results. It is removed at the end.
            poll_seconds: How soon to look at the batches for the first time.
            time_limit: Seconds after which `run_all` stops.
            progress: Called with the number of requests done at the endpoint.

        Raises:
            UsageError: The model has no batches.
            InputError: The state can't be read.
        """
        batch_model = self.check_model(runner.model)
        self._name = batch_model.name
        self._api = BatchApi(batch_model)
        self._secrets = Secrets(batch_model.endpoint.secrets)
        self._runner = runner
        self._store, self._folder = state, folder
        self._state = state.load()
        self._poll_seconds = poll_seconds
        self._time_limit = time_limit
        self._progress = progress
        self._waiting: dict[str, ReplySlot] = {}  # requests without a reply, by their name there
        self._submitted: set[str] = set()  # their cache keys
        self._reached = False  # whether the endpoint was there in this session
        self._failed_polls = 0  # failed looks in a row
        self._answered = False  # whether any request was let in
        self._forbidden: dict[str, str | None] = {}  # requests, and why, that others may not share
        self._refused: str | None = None  # why every other request would be refused, too
        self._cancelled: str | None = None
        self._reason: str | None = None  # why a batch ended before its time

    @staticmethod
    def check_model(model: ChatModel) -> OpenAIModel:
        """Return the model if its requests can go through batches. Raises UsageError."""
        if isinstance(model, OpenAIModel):
            return model
        raise UsageError(
            f"--batch: {model.name} doesn't support batches. Use a model behind an "
            "OpenAI-compatible endpoint (--base-url), or remove --batch"
        )

    async def run_all(
        self, waiting: Iterator[ModelRequest], requests: Callable[[], Iterator[ModelRequest]]
    ) -> None:
        """Send the waiting requests and take all replies.

        Args:
            waiting: The requests without a reply.
            requests: Returns all requests of the run anew, these among them.

        Raises:
            UnreachableError: The endpoint can't be reached, or has no batches.
            RunInterrupted: The time limit is reached.
            WriteError: A reply or the state can't be kept.
            OSError: The folder can't be written.
        """
        try:
            async with asyncio.timeout(self._time_limit) as time:
                await self._ask_in_rounds(waiting, requests)
        except HttpError as error:
            hint = ""
            if error.status in (404, 405):
                hint = (
                    ". Either the endpoint has no batches, or it no longer has those in "
                    "batches.json. Use another endpoint, remove --batch, or delete batches.json to "
                    "submit all requests again"
                )
            raise UnreachableError(
                f"the batches of {self._name} failed: {error}{hint}. {self._advice()}"
            ) from None
        except TimeoutError:
            if time.expired():
                raise RunInterrupted(f"reached the time limit. {self._advice()}") from None
            raise
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    async def _ask_in_rounds(
        self, waiting: Iterator[ModelRequest], requests: Callable[[], Iterator[ModelRequest]]
    ) -> None:
        for request in waiting:
            slot = self._runner.slot(request)
            if self._runner.take_kept(slot) is None:
                self._waiting[custom_id(request.id)] = slot
        if not self._waiting:
            return
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir()
        await self._collect_round()
        while self._waiting:
            before = len(self._waiting), self._state.limit_name
            path = self._folder / "calls.jsonl"
            for file in write_files(self._lines(requests()), path):
                await self._submit(file, path)
            await self._collect_round()
            if before == (len(self._waiting), self._state.limit_name):
                raise UnreachableError(
                    f"{self._name}: {len(self._waiting)} requests in batches got no reply: "
                    f"{self._reason or 'they are missing in the results'}. Fix the cause, or "
                    f"remove --batch. {self._advice()}"
                )

    def _lines(self, requests: Iterator[ModelRequest]) -> Iterator[bytes]:
        """Yield the lines of the requests that wait; of equal ones, only one at first."""
        keys: set[str] = set()
        for request in requests:
            name = custom_id(request.id)
            if name not in self._waiting:
                continue
            key = self._waiting[name].key
            if key in keys and key not in self._submitted:
                continue
            if key is not None:
                keys.add(key)
            try:
                yield self._api.line(name, request.request, self._state.limit_name)
            except TypeError as error:
                reason = f"the request can't be written as JSON: {error}"
                self._take(name, Reply(status=Status.ERROR, error=reason), 0.0)
        self._submitted |= keys

    async def _submit(self, file: RequestFile, path: Path) -> None:
        """Upload a file of calls and create a batch of it."""
        file_id = await self._api.upload(path)
        self._reached = True
        parts, limit_name = self._state.parts, self._state.limit_name
        part = BatchPart(len(parts) + 1, *file, limit_name=limit_name, input_file_id=file_id)
        parts.append(part)
        # With the saved state, a later session finds the batch even if this one is killed now.
        self._store.save(self._state)
        self._note(part, await self._api.create(file_id, part.url, self._mark(part)))

    async def _collect_round(self) -> None:
        """Wait for all parts under way and take their results.

        The waits between polls get longer. Raises UnreachableError or RunInterrupted if another
        round would fail, too.
        """
        wait = self._poll_seconds
        while parts := self._state.under_way:
            done = 0
            for part in parts:
                batch = await self._look_up(part)
                if batch is not None and batch.ended:
                    await self._collect(part, batch)
                    part.collected = True
                    self._store.save(self._state)
                elif batch is not None:
                    done += batch.done
            if self._state.under_way:
                self._progress(done)
                await asyncio.sleep(wait)
                wait = min(wait * _POLL_GROWTH, max(MAX_POLL_SECONDS, self._poll_seconds))
        for name, slot in list(self._waiting.items()):
            if self._runner.take_kept(slot) is not None:  # another item had the same request
                del self._waiting[name]
        if self._answered:  # so it lets us in: these failed by themselves
            for name in self._forbidden.keys() & self._waiting.keys():
                del self._waiting[name]
        elif self._forbidden:
            self._refused = next(iter(self._forbidden.values()))
        if self._waiting and self._cancelled:
            raise RunInterrupted(f"{self._cancelled}. {self._advice()}")
        if self._waiting and self._refused:
            raise UnreachableError(
                f"{self._name} can't be reached: {self._refused}. Fix the cause. {self._advice()}"
            )

    async def _look_up(self, part: BatchPart) -> EndpointBatch | None:
        """Return the batch of a part; None if the endpoint fails to answer for now."""
        try:
            if part.batch_id is not None:
                batch = await self._api.get(part.batch_id, part.input_file_id)
            else:
                # The session that uploaded it died before it knew whether the batch was created.
                mark = self._mark(part)
                batch = await self._api.find(part.input_file_id, mark) or await self._api.create(
                    part.input_file_id, part.url, mark
                )
        except HttpError as error:
            self._failed_polls += 1
            if not (self._reached and error.retryable and self._failed_polls < MAX_FAILED_POLLS):
                raise
            return None
        self._reached, self._failed_polls = True, 0
        self._note(part, batch)
        return batch

    async def _collect(self, part: BatchPart, batch: EndpointBatch) -> None:
        """Take the results of a batch that has ended."""
        if batch.status == "cancelled":
            self._cancelled = self._secrets.scrub(batch.reason)
        elif batch.status != "completed" or not (batch.output_file_id or batch.error_file_id):
            self._reason = self._secrets.scrub(batch.reason)
        async for result in self._api.results(batch, self._folder / "results.jsonl"):
            if result.custom_id not in self._waiting or result.reply is None:
                continue
            if result.other_limit and part.limit_name == _MAX_TOKENS:
                self._state.limit_name = "max_completion_tokens"
                continue
            if result.forbidden:
                self._forbidden[result.custom_id] = result.reply.error
            self._take(result.custom_id, result.reply, batch.seconds)

    def _take(self, name: str, reply: Reply, seconds: float) -> None:
        """Log a reply; a call that was refused like every other waits on."""
        self._runner.take(self._waiting[name], reply, seconds)
        if reply.finish_reason != Reply.UNREACHABLE:
            self._answered = True
            del self._waiting[name]
        elif name not in self._forbidden:
            self._refused = reply.error

    def _mark(self, part: BatchPart) -> dict[str, str]:
        """Return the metadata that identifies the batch of a part."""
        return {"trueground": self._state.token, "part": str(part.number)}

    def _note(self, part: BatchPart, batch: EndpointBatch) -> None:
        if (part.batch_id, part.status) != (batch.id, batch.status):
            part.batch_id, part.status = batch.id, batch.status
            self._store.save(self._state)

    def _advice(self) -> str:
        """Return how to resume if the session ends now."""
        number = len(self._state.under_way)
        if not number:
            return "Replies so far are saved. Run the same command to resume"
        running = "1 batch continues" if number == 1 else f"{number} batches continue"
        return (
            f"Replies so far are saved, and {running} at the endpoint. Run the same command to "
            "collect the results"
        )
