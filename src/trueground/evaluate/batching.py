"""Ask through an endpoint's batches: slower, cheaper, and nothing is submitted twice.

Calls go out in rounds. The next one begins when every part of the last, or of a session that was
killed, has been collected, so that what is still without a reply is known for certain.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from trueground.errors import RunInterrupted, TruegroundError, UnreachableError, UsageError
from trueground.evaluate.asking import Asking, Call, Slot
from trueground.evaluate.batch_files import Limits, custom_id, write_files
from trueground.evaluate.batch_parts import MAX_TOKENS, Part, Parts
from trueground.evaluate.run_settings import RunSettings
from trueground.models.base import UNREACHABLE, ChatModel, Reply
from trueground.models.batches import BatchApi, BatchModel, EndpointBatch
from trueground.net.failures import HttpError
from trueground.net.redact import scrub
from trueground.runs.directory import write_error
from trueground.types import Status

LIMITS = Limits()


def check_batches(model: ChatModel) -> BatchModel:
    """The model, if its calls can go through batches. Raises UsageError."""
    if isinstance(model, BatchModel):
        return model
    raise UsageError(
        f"--batch: {model.name} cannot be asked through batches, only a model behind an "
        "OpenAI-compatible endpoint can (--base-url). Name such a model, or leave --batch away"
    )


class Batching:
    """One session of asking through batches: takes calls and leaves replies in the log."""

    def __init__(
        self,
        model: ChatModel,
        asking: Asking,
        run: Path,
        settings: RunSettings,
        look: Callable[[int], None] = lambda _done: None,
    ) -> None:
        """`run` is the run directory; `look` hears how many calls the endpoint has done so far.

        Raises UsageError for a model without batches, InputError for an unreadable batches.json.
        """
        self._name = model.name
        with_batches = check_batches(model)
        self._api = BatchApi(with_batches)
        self._secrets = with_batches.endpoint.secrets
        self._parts = Parts(self._api, run, settings.poll_seconds, look)
        self._asking = asking
        self._time_limit = settings.time_limit
        self._folder = run / ".batch"
        self._waiting: dict[str, Slot] = {}  # calls without a reply, by their name in a batch
        self._submitted: set[str] = set()  # their cache keys
        self._reason: str | None = None  # why a batch ended before its time
        self._refused: str | None = None  # why every other call would be refused, too
        self._cancelled: str | None = None
        self._forbidden: dict[str, str | None] = {}  # calls, and why, that others may not share
        self._answered = False

    async def ask_all(self, waiting: Iterator[Call], calls: Callable[[], Iterator[Call]]) -> None:
        """Work off the waiting calls; `calls` gives all calls of the run anew, these among them.

        Raises UnreachableError, RunInterrupted at the end of the time, WriteError.
        """
        try:
            async with asyncio.timeout(self._time_limit) as time:
                await self._work_off(waiting, calls)
        except HttpError as error:
            raise self._unreached(error) from None
        except OSError as error:
            if isinstance(error, TimeoutError) and time.expired():
                raise RunInterrupted(f"the time limit is reached. {self._kept()}") from None
            raise write_error(self._folder, error) from error
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)
            await self._api.close()

    async def _work_off(self, waiting: Iterator[Call], calls: Callable[[], Iterator[Call]]) -> None:
        for call in waiting:
            slot = self._asking.slot(call)
            if not self._asking.kept(slot):
                self._waiting[custom_id(call.id)] = slot
        if not self._waiting:
            return
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir()
        await self._collect_all()
        while self._waiting:
            before = len(self._waiting), self._parts.limit_name
            await self._submit(calls())
            await self._collect_all()
            if before == (len(self._waiting), self._parts.limit_name):
                raise self._stuck()

    async def _submit(self, calls: Iterator[Call]) -> None:
        """Send all calls that wait, in as many parts as they need."""
        path = self._folder / "calls.jsonl"
        for written in write_files(self._lines(calls), path, LIMITS):
            await self._parts.submit(written, path)

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
                yield self._api.line(name, call.request, self._parts.limit_name)
            except TypeError as error:
                reason = f"the call cannot be written as JSON: {error}"
                self._take(name, Reply(status=Status.ERROR, error=reason), 0.0)
        self._submitted |= keys

    async def _collect_all(self) -> None:
        """Wait for every part under way and take its results.

        Raises UnreachableError or RunInterrupted where more of the same would be no use.
        """
        async for part, batch in self._parts.ended():
            await self._collect(part, batch)
        for name, slot in list(self._waiting.items()):
            if self._asking.kept(slot):  # asked for another item, and answered
                del self._waiting[name]
        if self._answered:  # so it lets us in: these failed by themselves
            for name in self._forbidden.keys() & self._waiting.keys():
                del self._waiting[name]
        elif self._forbidden:
            self._refused = next(iter(self._forbidden.values()))
        if self._waiting and self._cancelled:
            raise RunInterrupted(f"{self._cancelled}. {self._kept()}")
        if self._waiting and self._refused:
            raise UnreachableError(
                f"{self._name} cannot be reached: {self._refused}; fix the cause. {self._kept()}"
            )

    async def _collect(self, part: Part, batch: EndpointBatch) -> None:
        """Take the results of a batch that has ended."""
        if batch.status == "cancelled":
            self._cancelled = scrub(batch.reason, self._secrets)
        elif batch.status != "completed" or not (batch.output_file_id or batch.error_file_id):
            self._reason = scrub(batch.reason, self._secrets)
        async for result in self._api.results(batch, self._folder / "results.jsonl"):
            if result.custom_id not in self._waiting or result.reply is None:
                continue
            if result.other_limit and part.limit_name == MAX_TOKENS:
                self._parts.limit_name = "max_completion_tokens"
                continue
            if result.forbidden:
                self._forbidden[result.custom_id] = result.reply.error
            self._take(result.custom_id, result.reply, batch.seconds)

    def _take(self, name: str, reply: Reply, seconds: float) -> None:
        """Keep a reply; a call that was refused like every other waits on."""
        self._asking.take(self._waiting[name], reply, seconds)
        if reply.finish_reason != UNREACHABLE:
            self._answered = True
            del self._waiting[name]
        elif name not in self._forbidden:
            self._refused = reply.error

    def _kept(self) -> str:
        """What becomes of the run when the session ends now."""
        number = len(self._parts.under_way)
        if not number:
            return "What was answered is kept. Run the same command to go on"
        goes = "its batch goes" if number == 1 else f"its {number} batches go"
        return (
            f"What was answered is kept, and {goes} on at the endpoint. Run the same command to "
            "collect what comes of it"
        )

    def _unreached(self, error: HttpError) -> TruegroundError:
        hint = ""
        if error.status in (404, 405):
            hint = (
                " (an endpoint without batches, or one that does not hold what batches.json names: "
                "give another, leave --batch away, or delete that file to submit all anew)"
            )
        return UnreachableError(
            f"{self._name} cannot be reached through batches: {error}{hint}. {self._kept()}"
        )

    def _stuck(self) -> UnreachableError:
        return UnreachableError(
            f"{self._name}: {len(self._waiting)} calls came back from batches without a reply: "
            f"{self._reason or 'the results leave them out'}; fix the cause, or leave --batch "
            f"away. {self._kept()}"
        )
