"""The parts in which a run's calls lie at an endpoint: submitted once, looked at, collected.

batches.json is written before and after everything that must not happen twice, so that a run that
was killed knows which parts the endpoint has.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec

from trueground.errors import InputError, OutputError
from trueground.evaluate.batch_files import Written
from trueground.models.batches import BatchApi, EndpointBatch
from trueground.net.failures import HttpError
from trueground.runs.directory import BATCHES, write_json

MAX_TOKENS = "max_tokens"
_LONGEST_WAIT = 60.0  # seconds between two looks at the batches
_GROWTH = 1.5
# Looks in a row that failed, until an endpoint that was there counts as gone.
_LOST_LOOKS = 20


class Part(msgspec.Struct):
    """One file of calls at the endpoint, and the batch made of it.

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


class State(msgspec.Struct):
    """What batches.json holds. `token` marks this run's batches at the endpoint."""

    token: str
    limit_name: str = MAX_TOKENS
    parts: list[Part] = []


def check_none_under_way(run: Path) -> None:
    """Raises OutputError where an endpoint still works on calls of this run."""
    waiting = [part for part in _read(run / BATCHES).parts if not part.collected]
    if waiting:
        calls = sum(part.requests for part in waiting)
        raise OutputError(
            f"{run}: an endpoint has {calls:,} calls of this run in batches; asked again they "
            "would be paid for twice. Add --batch to collect them, or choose another --out"
        )


class Parts:
    """All parts of a run, those of earlier sessions too. Its methods raise HttpError, WriteError.

    `look` hears how many calls of the batches under way have been done.
    """

    def __init__(
        self, api: BatchApi, run: Path, poll_seconds: float, look: Callable[[int], None]
    ) -> None:
        """Read what is known of them. Raises InputError."""
        self._api = api
        self._path = run / BATCHES
        self._poll = poll_seconds
        self._look = look
        self._state = _read(self._path)
        self._reached = False
        self._lost = 0

    @property
    def under_way(self) -> list[Part]:
        """Those whose results have not been taken yet."""
        return [part for part in self._state.parts if not part.collected]

    @property
    def limit_name(self) -> str:
        """What the endpoint calls `max_tokens`, as far as it has said."""
        return self._state.limit_name

    @limit_name.setter
    def limit_name(self, name: str) -> None:
        self._state.limit_name = name

    async def submit(self, written: Written, path: Path) -> None:
        """Upload a file of calls and make a batch of it."""
        file_id = await self._api.upload(path)
        self._reached = True
        parts = self._state.parts
        part = Part(
            number=len(parts) + 1,
            sha256=written.sha256,
            requests=written.requests,
            url=written.url,
            limit_name=self.limit_name,
            input_file_id=file_id,
        )
        parts.append(part)
        self._write()  # from here on, a batch that nobody knows of can be found
        self._tell(part, await self._api.create(file_id, part.url, self._mark(part)))

    async def ended(self) -> AsyncIterator[tuple[Part, EndpointBatch]]:
        """Each part under way when its batch has ended; it is collected when the next is asked for.

        Waits between two looks at the endpoint, longer and longer.
        """
        wait = self._poll
        while parts := self.under_way:
            done = 0
            for part in parts:
                batch = await self._seen(part)
                if batch is not None and batch.ended:
                    yield part, batch
                    part.collected = True
                    self._write()
                elif batch is not None:
                    done += batch.done
            if self.under_way:
                self._look(done)
                await asyncio.sleep(wait)
                wait = min(wait * _GROWTH, max(_LONGEST_WAIT, self._poll))

    async def _seen(self, part: Part) -> EndpointBatch | None:
        """The batch of a part; None where the endpoint was there before and is silent now."""
        try:
            batch = await self._batch(part)
        except HttpError as error:
            self._lost += 1
            if not (self._reached and error.retryable and self._lost < _LOST_LOOKS):
                raise
            return None
        self._reached, self._lost = True, 0
        self._tell(part, batch)
        return batch

    async def _batch(self, part: Part) -> EndpointBatch:
        if part.batch_id is not None:
            return await self._api.get(part.batch_id, part.input_file_id)
        # The session that uploaded it died before it could write down whether the batch was made.
        mark = self._mark(part)
        found = await self._api.find(part.input_file_id, mark)
        return found or await self._api.create(part.input_file_id, part.url, mark)

    def _mark(self, part: Part) -> dict[str, str]:
        """What tells the batch of a part from all others at the endpoint."""
        return {"trueground": self._state.token, "part": str(part.number)}

    def _tell(self, part: Part, batch: EndpointBatch) -> None:
        if (part.batch_id, part.status) != (batch.id, batch.status):
            part.batch_id, part.status = batch.id, batch.status
            self._write()

    def _write(self) -> None:
        write_json(self._path, msgspec.to_builtins(self._state))


def _read(path: Path) -> State:
    try:
        return msgspec.json.decode(path.read_bytes(), type=State)
    except FileNotFoundError:
        return State(secrets.token_hex(16))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} cannot be read ({error}). Restore it; or delete it, and what is under way at "
            "the endpoint is submitted and paid again"
        ) from None
