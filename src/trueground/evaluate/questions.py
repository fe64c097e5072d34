"""What a benchmark run asks: its settings, the calls of a task, and the records of its answers."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, NamedTuple

import msgspec

from trueground.benchmarks.base import Question, Task
from trueground.errors import InputError, RunInterrupted, fails_alone
from trueground.evaluate.plan import Plan, check_breakdowns, make_plan
from trueground.evaluate.run_settings import RunSettings
from trueground.evaluate.table import BY_ID, REPEAT
from trueground.models.base import (
    ChatModel,
    ChatRequest,
    Reply,
    prompt_sha256,
    request_key,
    tidy,
    writable,
)
from trueground.models.calls import Calls, InFlight, recall, remember
from trueground.net.cache import ResponseCache
from trueground.net.redact import raised
from trueground.records import Check
from trueground.records.checks import Tally
from trueground.records.problems import AT_MOST, LARGEST_RESPONSE
from trueground.runs.responses import Response, ResponseLog
from trueground.types import Answered, Failure, Record, Status

_BATCH = 1024
_REASONS = 20  # different reasons of failures that the manifest names
_OTHER = "(other reasons)"


class Drawn(NamedTuple):
    """One of the answers wanted for a question; where there are several, ids are `id#1`, `id#2`."""

    id: str
    question: Question
    draw: int


class Questionnaire:
    """What is asked in a run: a task's questions, how many of them, how often, and how."""

    def __init__(self, task: Task, settings: RunSettings) -> None:
        self.task = task
        self.limit, self.repeats = settings.limit, settings.repeats
        self._number, self._shards = settings.shard or (0, 1)
        own = msgspec.structs.asdict(settings.params)
        own = {k: v for k, v in own.items() if v not in (None, ()) and (k != "extra" or v)}
        self.params = msgspec.structs.replace(task.params, **own)

    def drawn(self) -> Iterator[Drawn]:
        """Every answer wanted, in input order. Raises InputError for a row that is no question."""
        questions = islice(self.task.questions(), self.limit)
        for question in islice(questions, self._number, None, self._shards):
            if self.repeats == 1:
                yield Drawn(question.record.id, question, 0)
                continue
            for draw in range(self.repeats):
                yield Drawn(f"{question.record.id}#{draw + 1}", question, draw)

    def calls(self) -> Iterator[Call]:
        """The calls for them."""
        seed = self.params.seed
        for id_, question, draw in self.drawn():
            params = self.params
            if draw and seed is not None:  # the same seed would give the same answer again
                params = msgspec.structs.replace(params, seed=seed + draw)
            request = ChatRequest(question.messages, params, draw)
            yield Call(id_, request, prompt_sha256(question.messages))


def make_run_plan(task: Task, settings: RunSettings) -> Plan:
    """The task's metrics under these settings; repeated runs are also summed up one by one."""
    by = (settings.by,) if isinstance(settings.by, str) else settings.by
    repeats = [f"meta.{REPEAT}"] if settings.repeats > 1 else []
    return make_plan(
        (),
        [*task.metrics, *settings.also],
        settings.components,
        by=tuple(dict.fromkeys((*task.by, *by, *repeats))),
        seed=settings.seed,
        resamples=settings.resamples,
        keep_records=settings.keep_records,
        repeats_of=BY_ID if settings.repeats > 1 else None,
    )


def check_questions(task: Task, settings: RunSettings) -> Check:
    """Read every question once: how many answers are wanted, and what stands in the records.

    Raises InputError for a row that is no question, UsageError for a breakdown that is not there,
    and for a setting of the user that the task ignores.
    """
    tally, progress = Tally(), settings.progress
    for drawn in Questionnaire(task, settings).drawn():
        tally.count(drawn.question.record)
        if tally.n % 1024 == 0:
            progress("check", tally.n, None)
    progress("check", tally.n, tally.n)
    task.check_settings()
    check = Check(tally.n, [], 0, tally.fields(), False, list(task.files), tally.breakdowns())
    own = [name for name in make_run_plan(task, settings).by if name != f"meta.{REPEAT}"]
    check_breakdowns(own, check)
    return check


@dataclass
class Outcome:
    """What became of the items, over all sessions of a run; the counts add up to the items."""

    counts: Counter[str] = field(default_factory=Counter)
    refusals: int = 0
    answered_by: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, response: Response | None) -> None:
        """Count one item; None was not asked."""
        if response is None:
            self.counts[Status.ERROR.value] += 1
            return
        self.counts[response.status.value if response.status else "answered"] += 1
        self.refusals += response.refusal
        if response.model:
            self.answered_by[response.model] += 1
        if response.error:
            known = len(self.reasons) < _REASONS or response.error in self.reasons
            self.reasons[response.error if known else _OTHER] += 1

    def as_json(self) -> dict[str, Any]:
        """The part of the manifest about the answers."""
        return {
            "outcomes": {
                name: self.counts[name] for name in ("answered", "truncated", "too_long", "error")
            },
            "refusals": self.refusals,
            "errors": dict(self.reasons.most_common()),
            "answered_by": dict(self.answered_by.most_common()),
        }


@dataclass(frozen=True)
class AnsweredQuestions:
    """The records of a run: its questions with the replies in the log, in input order."""

    questionnaire: Questionnaire
    log: ResponseLog
    model: str
    outcome: Outcome

    def batches(self) -> Iterator[list[Record]]:
        """Records with their responses; those that have none carry the reason."""
        records = map(self._record, self.questionnaire.drawn())
        while batch := list(islice(records, _BATCH)):
            yield batch

    def _record(self, drawn: Drawn) -> Record:
        response = self.log.get(drawn.id)
        prompt = prompt_sha256(drawn.question.messages)
        if response is not None and response.prompt_sha256 != prompt:
            raise InputError(
                f"the question of {drawn.id!r} is not the one that was answered: the data changed "
                "while the run went on. Put back what they were, or choose another --out"
            )
        self.outcome.add(response)
        record = msgspec.structs.asdict(drawn.question.record)
        text, failure = self._answer(response)
        record |= {"id": drawn.id, "response": text, "model": self.model, "failure": failure}
        if self.questionnaire.repeats > 1:
            record["group"] = record["group"] or drawn.question.record.id
            record["meta"] = {**(record["meta"] or {}), REPEAT: str(drawn.draw + 1)}
        return Answered(**record)

    def _answer(self, response: Response | None) -> tuple[str, Failure | None]:
        """What is scored of a reply, or why nothing is."""
        text, failure = writable((response.response if response else None) or ""), None
        if response is None:
            failure = Failure(Status.ERROR, "the model was not asked")
        elif response.status is Status.TRUNCATED:
            failure = Failure(Status.TRUNCATED, "the reply ended at the token limit")
        elif response.status is not None:
            failure = Failure(response.status, response.error or "the call failed")
        if len(text) > LARGEST_RESPONSE:
            reason = f"the reply has {len(text):,} characters; expected {AT_MOST}"
            return "", failure or Failure(Status.ERROR, reason)
        try:
            trim = self.questionnaire.task.trim
            return trim(text) if trim else text, failure
        except BaseException as error:
            if not fails_alone(error):
                raise
            return text, Failure(Status.ERROR, f"the reply cannot be read: {raised(error)}")


_ADVICE = "What was answered is kept; fix the cause and run the same command again to go on"
_GRACE_S = 30.0  # for calls under way when the time is over: they are as good as paid


class Call(NamedTuple):
    """One call to make: for which item, what is asked, and the hash of the prompt."""

    id: str
    request: ChatRequest
    prompt: str


class Slot(NamedTuple):
    """Where a reply goes: the item, the hash of its prompt, and its key in the cache if any."""

    id: str
    prompt: str
    key: str | None


class Asking:
    """One session of asking: takes calls from an iterator and leaves replies in the log."""

    def __init__(
        self,
        model: ChatModel,
        log: ResponseLog,
        cache: ResponseCache | None,
        tick: Callable[[], None],
        time_limit: float | None = None,
    ) -> None:
        """`tick` is called for every reply; `time_limit` is in seconds from now."""
        self._model = model
        self._log = log
        self._cache = cache if model.cacheable else None
        self._tick = tick
        self._ends = None if time_limit is None else time.monotonic() + time_limit
        self._time_is_over = False
        self._calls = Calls(model)
        self._in_flight = InFlight()
        # A model that is a file of replies has them by the ids of the items.
        self._reply_for: Callable[[str], Reply | None] = getattr(
            model, "reply_for", lambda _id: None
        )

    async def ask_all(self, calls: Iterator[Call]) -> None:
        """Work off all calls. UnreachableError where none gets through, RunInterrupted at the end
        of the time; what was answered is in the log either way.
        """
        failed: BaseException | None = None
        try:
            async with asyncio.TaskGroup() as workers:
                # Each begins with a call in hand, so that there are never more than calls.
                for first in islice(calls, self._model.concurrency):
                    workers.create_task(self._work(chain((first,), calls)))
                    self._calls.workers += 1
        except BaseExceptionGroup as group:
            failed = group.exceptions[0]  # what ended the others
        if failed is not None:
            raise failed
        if self._time_is_over:
            raise _out_of_time()
        self._calls.check_any_reached(_ADVICE)

    async def _work(self, calls: Iterator[Call]) -> None:
        for call in calls:
            slot = self.slot(call)
            reply = None
            async with self._in_flight.turn(slot.key):
                if (on_file := self._reply_for(call.id)) is not None:
                    self._write(slot, on_file, None, cached=False)
                elif not self.take_cached(slot):
                    if self._ends is not None and time.monotonic() >= self._ends:
                        self._time_is_over = True
                        return
                    reply = await self._ask(call.request, slot)
            if reply is not None:
                await self._calls.check_reached(reply, _ADVICE, more=True)
            else:
                await asyncio.sleep(0)  # many in a row must not keep all else from going on

    async def _ask(self, request: ChatRequest, slot: Slot) -> Reply:
        """Make the call and keep its reply: in the log, then in the cache."""
        left = None if self._ends is None else self._ends + _GRACE_S - time.monotonic()
        start = time.perf_counter()
        with self._calls.under_way():
            try:
                async with asyncio.timeout(left) as limit:
                    reply = await self._calls.reply(request)
                self.take(slot, reply, time.perf_counter() - start)
            except TimeoutError:
                if limit.expired():
                    raise _out_of_time() from None
                raise
        return reply

    def restore(self, call: Call) -> None:
        """Cache an answer of an earlier session, which may have died before it was cached."""
        slot = self.slot(call)
        if self._cache is None or slot.key is None or self._cache.get(slot.key) is not None:
            return
        response = self._log.get(call.id)
        if response is not None:
            remember(self._cache, slot.key, self._model.name, response.reply())

    def slot(self, call: Call) -> Slot:
        """Where the reply to a call goes."""
        key = request_key(self._model.signature, call.request) if self._cache else None
        return Slot(call.id, call.prompt, key)

    def take(self, slot: Slot, reply: Reply, latency_s: float) -> None:
        """Log and cache a reply that was called for now."""
        reply = tidy(reply)
        self._write(slot, reply, latency_s, cached=False)
        if self._cache is not None and slot.key is not None:
            remember(self._cache, slot.key, self._model.name, reply)

    def take_cached(self, slot: Slot) -> bool:
        """Log the reply that the cache has, if any."""
        if self._cache is None or slot.key is None:
            return False
        reply = recall(self._cache, slot.key)
        if reply is not None:
            self._write(slot, reply, None, cached=True)
        return reply is not None

    def _write(self, slot: Slot, reply: Reply, latency_s: float | None, *, cached: bool) -> None:
        self._log.append(Response.of(slot.id, slot.prompt, reply, latency_s, cached))
        self._tick()


def _out_of_time() -> RunInterrupted:
    return RunInterrupted(
        "the time limit is reached; what was answered is kept. Run the same command to go on"
    )
