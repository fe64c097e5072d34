"""Ask through an endpoint's batches: slower, cheaper, and safe from every kill on the way.

Nothing is submitted twice: a part is noted when its file is uploaded, its batch is looked for
before it is made again, and the next round begins when every part under way has been collected.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from trueground.errors import RunInterrupted, UnreachableError, UsageError
from trueground.evaluate.asking import Asking, Call, Slot
from trueground.evaluate.batch_parts import (
    Limits,
    Part,
    Written,
    custom_id,
    read_state,
    write_parts,
    write_state,
)
from trueground.evaluate.run_settings import RunSettings
from trueground.models.base import ChatModel, Reply
from trueground.models.batches import Batch, BatchApi, BatchModel
from trueground.net.failures import HttpError
from trueground.runs.directory import BATCHES, write_error
from trueground.runs.responses import UNREACHABLE
from trueground.types import Status

_LONGEST_WAIT = 60.0  # seconds between two looks at the batches
_GROWTH = 1.5
# Looks in a row that failed, before an endpoint that was there counts as gone.
_LOST_LOOKS = 20
_KEPT = "What was answered is kept"


def see_batches(model: ChatModel) -> BatchModel:
    """The model, if its calls can go through batches. Raises UsageError."""
    if isinstance(model, BatchModel):
        return model
    raise UsageError(
        f"--batch: {model.name} cannot be asked through batches; only models behind an "
        "OpenAI-compatible endpoint can. Leave --batch away, or name such a model (--base-url)"
    )


class Batching:
    """One session of asking through batches: takes calls and leaves replies in the log."""

    def __init__(
        self,
        model: ChatModel,
        asking: Asking,
        run: Path,
        settings: RunSettings,
        *,
        look: Callable[[int], None] = lambda _done: None,
        limits: Limits | None = None,
    ) -> None:
        """`run` is the run directory; `look` hears how many calls the endpoint has done so far.

        Raises UsageError for a model without batches, InputError for an unreadable batches.json.
        """
        self._model = see_batches(model)
        self._asking = asking
        self._run = run
        self._settings = settings
        self._look = look
        self._limits = limits or Limits()
        self._state = read_state(run)
        self._waiting: dict[str, Slot] = {}  # calls without a reply, by their name in a batch
        self._tried: set[str] = set()  # cache keys of calls that were submitted in this session
        self._answered = 0
        self._reached = False
        self._lost = 0
        self._stops: list[str] = []  # why this session must not submit what is left
        self._reasons: list[str] = []  # what the endpoint says of batches that brought nothing

    async def ask_all(self, waiting: Iterator[Call], calls: Callable[[], Iterator[Call]]) -> None:
        """Work off the waiting calls; `calls` gives all calls of the run anew, these among them.

        Raises UnreachableError, RunInterrupted at the end of the time, WriteError.
        """
        folder = self._run / ".batch"
        self._api = BatchApi(self._model)
        try:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            async with asyncio.timeout(self._settings.time_limit) as time:
                await self._work_off(waiting, calls, folder)
        except TimeoutError as error:
            if time.expired():
                raise RunInterrupted(f"the time limit is reached. {self._rest()}") from None
            raise write_error(folder, error) from error
        except HttpError as error:
            raise UnreachableError(f"{self._failed(error)}. {self._rest()}") from None
        except OSError as error:
            raise write_error(folder, error) from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            await self._api.close()

    async def _work_off(
        self, waiting: Iterator[Call], calls: Callable[[], Iterator[Call]], folder: Path
    ) -> None:
        for call in waiting:
            slot = self._asking.slot(call)
            if not self._asking.kept(slot):
                self._waiting[custom_id(call.id)] = slot
        if self._waiting:
            await self._collect_all(folder)
        while self._waiting:
            for name, slot in list(self._waiting.items()):
                if self._asking.kept(slot):  # asked under another id, and answered
                    del self._waiting[name]
            before = self._answered, self._state.limit_name
            await self._submit(calls, folder)
            await self._collect_all(folder)
            if self._waiting and before == (self._answered, self._state.limit_name):
                why = "; ".join(self._reasons[-3:]) or "the endpoint gives no reason"
                raise UnreachableError(
                    f"{self._model.name}: {len(self._waiting)} calls went through batches without "
                    f"a reply: {why}. {_KEPT}; mend the cause and run the same command to go on, "
                    "or leave --batch away"
                )

    async def _submit(self, calls: Callable[[], Iterator[Call]], folder: Path) -> None:
        """Send all calls that wait, in as many parts as they need."""
        path = folder / "calls.jsonl"
        for written in write_parts(self._lines(calls()), path, self._limits):
            file_id = await self._api.upload(path)
            self._reached = True
            part = self._note(written, file_id)
            await self._create(part)
            path.unlink()

    def _lines(self, calls: Iterator[Call]) -> Iterator[bytes]:
        """The lines of the calls that wait; of those that ask the same, one at first."""
        keys: set[str] = set()
        for call in calls:
            name = custom_id(call.id)
            slot = self._waiting.get(name)
            if slot is None or (slot.key in keys and slot.key not in self._tried):
                continue
            if slot.key is not None:
                keys.add(slot.key)
            try:
                yield self._api.line(name, call.request, self._state.limit_name)
            except TypeError as error:
                reason = f"the call cannot be written as JSON: {error}"
                self._take(name, Reply(status=Status.ERROR, error=reason), 0.0)
        self._tried |= keys

    def _note(self, written: Written, file_id: str) -> Part:
        """Write down a part that is uploaded, before a batch is made of it."""
        state = self._state
        part = Part(
            number=len(state.parts) + 1,
            sha256=written.sha256,
            requests=written.requests,
            url=written.url,
            limit_name=state.limit_name,
            input_file_id=file_id,
        )
        state.parts.append(part)
        write_state(self._run, state)
        return part

    async def _create(self, part: Part) -> None:
        batch = await self._api.create(part.input_file_id, part.url, self._state.mark(part))
        self._tell(part, batch)

    def _tell(self, part: Part, batch: Batch) -> None:
        """Write down what the endpoint says of a part."""
        if (part.batch_id, part.status) != (batch.id, batch.status):
            part.batch_id, part.status = batch.id, batch.status
            write_state(self._run, self._state)

    async def _collect_all(self, folder: Path) -> None:
        """Wait for every part under way and take its results.

        Raises UnreachableError or RunInterrupted where more of the same would be no use.
        """
        wait = self._settings.poll_seconds
        while parts := self._state.open:
            done = 0
            for part in parts:
                batch = await self._seen(part)
                if batch is not None and batch.ended:
                    await self._collect(part, batch, folder)
                elif batch is not None:
                    done += batch.done
            if self._state.open:
                self._look(done)
                await asyncio.sleep(wait)
                wait = min(wait * _GROWTH, max(_LONGEST_WAIT, self._settings.poll_seconds))
        if self._waiting and self._stops:
            raise RunInterrupted(f"{'; '.join(self._stops)}. {self._rest()}")
        if self._waiting and self._refused:
            raise UnreachableError(
                f"{self._model.name} cannot be reached: {self._refused}. {self._rest()}"
            )

    async def _seen(self, part: Part) -> Batch | None:
        """How a part stands; None where the endpoint was reached before and is not to be had now.

        A part that was uploaded by a session that died may have its batch or not.
        """
        try:
            if part.batch_id is None:
                mark = self._state.mark(part)
                batch = await self._api.find(part.input_file_id, mark)
                if batch is None:
                    batch = await self._api.create(part.input_file_id, part.url, mark)
            else:
                batch = await self._api.get(part.batch_id)
        except HttpError as error:
            self._lost += 1
            if not (self._reached and error.retryable and self._lost < _LOST_LOOKS):
                raise
            return None
        self._reached, self._lost = True, 0
        self._tell(part, batch)
        return batch

    async def _collect(self, part: Part, batch: Batch, folder: Path) -> None:
        """Take the results of a batch that has ended."""
