"""Ask through an endpoint's batches: slower, cheaper, and nothing is submitted twice.

Calls go out in rounds, each in as many parts as it needs. The next round begins when every part of
the last, or of a session that was killed, has been collected, so that what is still without a reply
is known for certain. batches.json is written before and after everything that must not happen
twice, so that a run that was killed knows which parts the endpoint has.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec
import orjson

from trueground.errors import (
    InputError,
    OutputError,
    RunInterrupted,
    UnreachableError,
    UsageError,
)
from trueground.evaluate.questions import Asking, Call, Slot
from trueground.files.writing import open_no_follow
from trueground.models.base import UNREACHABLE, ChatModel, Reply
from trueground.models.batches import BatchApi, EndpointBatch
from trueground.models.openai import OpenAIModel
from trueground.net.failures import HttpError
from trueground.net.redact import Secrets
from trueground.runs.directory import BATCHES, write_error, write_json
from trueground.types import Status

# What goes into one file of calls. OpenAI takes 50,000 calls and 200 MB.
MAX_REQUESTS, MAX_BYTES = 50_000, 190_000_000
_MAX_TOKENS = "max_tokens"
_LONGEST_WAIT = 60.0  # seconds between two looks at the batches
_GROWTH = 1.5
_LOST_LOOKS = 20  # failed looks in a row until an endpoint that was there counts as gone
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
    """What batches.json holds. `token` marks this run's batches at the endpoint."""

    token: str
    limit_name: str = _MAX_TOKENS
    parts: list[BatchPart] = []

    @property
    def under_way(self) -> list[BatchPart]:
        """The parts whose results have not been taken yet."""
        return [part for part in self.parts if not part.collected]


class CallFile(NamedTuple):
    """A file of calls on disk; `url` is that of its lines."""

    sha256: str
    requests: int
    url: str


def check_batches(model: ChatModel) -> OpenAIModel:
    """The model, if its calls can go through batches. Raises UsageError."""
    if isinstance(model, OpenAIModel):
        return model
    raise UsageError(
        f"--batch: {model.name} cannot be asked through batches, only a model behind an "
        "OpenAI-compatible endpoint can (--base-url). Name such a model, or leave --batch away"
    )


def check_none_under_way(run: Path) -> None:
    """Raises OutputError where an endpoint still works on calls of this run."""
    if waiting := _read_state(run / BATCHES).under_way:
        calls = sum(part.requests for part in waiting)
        raise OutputError(
            f"{run}: an endpoint has {calls:,} calls of this run in batches; asked again they "
            "would be paid for twice. Add --batch to collect them, or choose another --out"
        )


def custom_id(item: str) -> str:
    """An item's name in a batch: its id where that is plain and short, else a hash of it."""
    return item if _PLAIN.fullmatch(item) else sha256(item.encode()).hexdigest()


def write_files(lines: Iterator[bytes], path: Path) -> Iterator[CallFile]:
    """Fill the file, yield it, fill it anew, until the lines end. Raises OSError.

    One call is always allowed in a file, however long.
    """
    line = next(lines, None)
    while line is not None:
        url = orjson.loads(line)["url"]
        digest, number, size = sha256(), 0, 0
        with open_no_follow(path, "xb", replace=True) as out:
            while line is not None and (
                not number or (number < MAX_REQUESTS and size + len(line) <= MAX_BYTES)
            ):
                out.write(line)
                digest.update(line)
                number, size = number + 1, size + len(line)
                line = next(lines, None)
        yield CallFile(digest.hexdigest(), number, url)


def _read_state(path: Path) -> BatchState:
    try:
        return msgspec.json.decode(path.read_bytes(), type=BatchState)
    except FileNotFoundError:
        return BatchState(secrets.token_hex(16))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} cannot be read ({error}). Restore it; or delete it, and what is under way at "
            "the endpoint is submitted and paid again"
        ) from None


class BatchAsking:
    """One session of asking through batches: takes calls and leaves replies in the log."""

    def __init__(
        self,
        model: ChatModel,
        asking: Asking,
        run: Path,
        *,
        poll_seconds: float,
        time_limit: float | None = None,
        progress: Callable[[int], None] = lambda _done: None,
    ) -> None:
        """`run` is the run directory; `progress` is called with the calls done at the endpoint.

        Raises UsageError for a model without batches, InputError for an unreadable batches.json.
        """
        batch_model = check_batches(model)
        self._name = model.name
        self._api = BatchApi(batch_model)
        self._secrets = Secrets(batch_model.endpoint.secrets)
        self._asking = asking
        self._path, self._folder = run / BATCHES, run / ".batch"
        self._state = _read_state(self._path)
        self._poll_seconds = poll_seconds
        self._time_limit = time_limit
        self._progress = progress
        self._waiting: dict[str, Slot] = {}  # calls without a reply, by their name in a batch
        self._submitted: set[str] = set()  # their cache keys
        self._reached = False  # whether the endpoint was there in this session
        self._lost = 0  # failed looks in a row
        self._answered = False  # whether any call was let in
        self._forbidden: dict[str, str | None] = {}  # calls, and why, that others may not share
        self._refused: str | None = None  # why every other call would be refused, too
        self._cancelled: str | None = None
        self._reason: str | None = None  # why a batch ended before its time

    async def ask_all(self, waiting: Iterator[Call], calls: Callable[[], Iterator[Call]]) -> None:
        """Work off the waiting calls; `calls` gives all calls of the run anew, these among them.

        Raises UnreachableError, RunInterrupted at the end of the time, WriteError.
        """
        try:
            async with asyncio.timeout(self._time_limit) as time:
                await self._ask_in_rounds(waiting, calls)
        except HttpError as error:
            hint = ""
            if error.status in (404, 405):
                hint = (
                    " (an endpoint without batches, or one that does not hold what batches.json "
                    "names: give another, leave --batch away, or delete that file to submit all "
                    "anew)"
                )
            raise UnreachableError(
                f"{self._name} cannot be reached through batches: {error}{hint}. {self._advice()}"
            ) from None
        except OSError as error:
            if isinstance(error, TimeoutError) and time.expired():
                raise RunInterrupted(f"the time limit is reached. {self._advice()}") from None
            raise write_error(self._folder, error) from error
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    async def _ask_in_rounds(
        self, waiting: Iterator[Call], calls: Callable[[], Iterator[Call]]
    ) -> None:
        for call in waiting:
            slot = self._asking.slot(call)
            if not self._asking.take_cached(slot):
                self._waiting[custom_id(call.id)] = slot
        if not self._waiting:
            return
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir()
        await self._collect_round()
        while self._waiting:
            before = len(self._waiting), self._state.limit_name
            path = self._folder / "calls.jsonl"
            for file in write_files(self._lines(calls()), path):
                await self._submit(file, path)
            await self._collect_round()
            if before == (len(self._waiting), self._state.limit_name):
                raise UnreachableError(
                    f"{self._name}: {len(self._waiting)} calls came back from batches without a "
                    f"reply: {self._reason or 'the results leave them out'}; fix the cause, or "
                    f"leave --batch away. {self._advice()}"
                )

    def _lines(self, calls: Iterator[Call]) -> Iterator[bytes]:
        """The lines of the calls that wait; of those that ask the same, only one at first."""
        keys: set[str] = set()
        for call in calls:
            name = custom_id(call.id)
            if name not in self._waiting:
                continue
            key = self._waiting[name].key
            if key in keys and key not in self._submitted:
                continue
            if key is not None:
                keys.add(key)
            try:
                yield self._api.line(name, call.request, self._state.limit_name)
            except TypeError as error:
                reason = f"the call cannot be written as JSON: {error}"
                self._take(name, Reply(status=Status.ERROR, error=reason), 0.0)
        self._submitted |= keys

    async def _submit(self, file: CallFile, path: Path) -> None:
        """Upload a file of calls and create a batch of it."""
        file_id = await self._api.upload(path)
        self._reached = True
        parts, limit_name = self._state.parts, self._state.limit_name
        part = BatchPart(len(parts) + 1, *file, limit_name=limit_name, input_file_id=file_id)
        parts.append(part)
        self._write_state()  # from here on, a batch that nobody knows of can be found
        self._note(part, await self._api.create(file_id, part.url, self._mark(part)))

    async def _collect_round(self) -> None:
        """Wait for every part under way and take its results.

        Waits between two looks at the endpoint, longer and longer. Raises UnreachableError or
        RunInterrupted where more of the same would be no use.
        """
        wait = self._poll_seconds
        while parts := self._state.under_way:
            done = 0
            for part in parts:
                batch = await self._look_up(part)
                if batch is not None and batch.ended:
                    await self._collect(part, batch)
                    part.collected = True
                    self._write_state()
                elif batch is not None:
                    done += batch.done
            if self._state.under_way:
                self._progress(done)
                await asyncio.sleep(wait)
                wait = min(wait * _GROWTH, max(_LONGEST_WAIT, self._poll_seconds))
        for name, slot in list(self._waiting.items()):
            if self._asking.take_cached(slot):  # asked for another item, and answered
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
                f"{self._name} cannot be reached: {self._refused}; fix the cause. {self._advice()}"
            )

    async def _look_up(self, part: BatchPart) -> EndpointBatch | None:
        """The batch of a part; None where the endpoint was there before and is silent now."""
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
            self._lost += 1
            if not (self._reached and error.retryable and self._lost < _LOST_LOOKS):
                raise
            return None
        self._reached, self._lost = True, 0
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
        self._asking.take(self._waiting[name], reply, seconds)
        if reply.finish_reason != UNREACHABLE:
            self._answered = True
            del self._waiting[name]
        elif name not in self._forbidden:
            self._refused = reply.error

    def _mark(self, part: BatchPart) -> dict[str, str]:
        """What tells the batch of a part from all others at the endpoint."""
        return {"trueground": self._state.token, "part": str(part.number)}

    def _note(self, part: BatchPart, batch: EndpointBatch) -> None:
        if (part.batch_id, part.status) != (batch.id, batch.status):
            part.batch_id, part.status = batch.id, batch.status
            self._write_state()

    def _write_state(self) -> None:
        write_json(self._path, msgspec.to_builtins(self._state))

    def _advice(self) -> str:
        """What becomes of the run when the session ends now."""
        number = len(self._state.under_way)
        if not number:
            return "What was answered is kept. Run the same command to go on"
        goes = "its batch goes" if number == 1 else f"its {number} batches go"
        return (
            f"What was answered is kept, and {goes} on at the endpoint. Run the same command to "
            "collect what comes of it"
        )
