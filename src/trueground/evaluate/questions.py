"""What a benchmark run asks: its settings, the calls of a task, and the records of its answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from trueground.benchmarks import Question, Task
from trueground.errors import InputError, fails_alone
from trueground.evaluate.plan import Plan, check_breakdowns
from trueground.evaluate.run_settings import RunSettings
from trueground.evaluate.table import REPEAT, QuestionRule
from trueground.models import ChatModel, ChatRequest, ModelRequest, Reply, ReplySlot, ReplyStore
from trueground.net import raised
from trueground.records import Check
from trueground.runs import Manifest, Response, ResponseLog, Summary
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
    """What a run asks, and what it computes of the answers: a task under the settings."""

    def __init__(self, task: Task, settings: RunSettings) -> None:
        self.task = task
        self.settings = settings
        self.limit, self.repeats = settings.limit, settings.repeats
        self._number, self._shards = settings.shard or (0, 1)
        own = msgspec.structs.asdict(settings.params)
        own = {k: v for k, v in own.items() if v not in (None, ()) and (k != "extra" or v)}
        self.params = msgspec.structs.replace(task.params, **own)

    @cached_property
    def plan(self) -> Plan:
        """The task's metrics under the settings. Repeated runs are also summed up one by one."""
        task, settings = self.task, self.settings
        by = (settings.by,) if isinstance(settings.by, str) else settings.by
        repeats = [Summary.REPEAT_FIELD] if settings.repeats > 1 else []
        return Plan.make(
            (),
            [*task.metrics, *settings.also],
            settings.components,
            by=tuple(dict.fromkeys((*task.by, *by, *repeats))),
            seed=settings.seed,
            resamples=settings.resamples,
            keep_records=settings.keep_records,
            repeats_of=QuestionRule.BY_ID if settings.repeats > 1 else None,
        )

    def check(self) -> Check:
        """Read every question once. Return how many answers are needed, and the fields of records.

        Raises:
            InputError: A row isn't a question.
            UsageError: A breakdown doesn't exist, or the task ignores a setting of the user.
        """
        progress = self.settings.progress

        def read() -> Iterator[Record]:
            for n, drawn in enumerate(self.drawn(), start=1):
                yield drawn.question.record
                if n % 1024 == 0:
                    progress("check", n, None)

        check = Check.of_records(read(), self.task.files)
        progress("check", check.n, check.n)
        self.task.check_settings()
        own = [name for name in self.plan.by if name != Summary.REPEAT_FIELD]
        check_breakdowns(own, check)
        return check

    def identify(self, signature: str) -> dict[str, Any]:
        """Return what makes two runs the same run: all that fixes questions, answers and scores.

        Args:
            signature: That of the model. Its endpoint isn't part of it.
        """
        task, plan = self.task, self.plan
        return {
            "benchmark": f"{task.benchmark}/{task.name}",
            "options": dict(task.options),
            "data": sorted(file.sha256 for file in task.files),
            "prompts": {prompt.id: prompt.sha256 for prompt in task.prompts},
            "model": signature,
            "params": msgspec.to_builtins(self.params),
            "limit": self.limit,
            "repeats": self.repeats,
            "metrics": plan.signatures,
            "by": list(plan.by),
            "seed": plan.seed,
            "resamples": plan.resamples,
        }

    def drawn(self) -> Iterator[Drawn]:
        """Every answer wanted, in input order. Raises InputError for a row that is no question."""
        questions = islice(self.task.questions(), self.limit)
        for question in islice(questions, self._number, None, self._shards):
            if self.repeats == 1:
                yield Drawn(question.record.id, question, 0)
                continue
            for draw in range(self.repeats):
                yield Drawn(f"{question.record.id}#{draw + 1}", question, draw)

    def requests(self) -> Iterator[ModelRequest]:
        """Yield the requests for them."""
        seed = self.params.seed
        for id_, question, draw in self.drawn():
            params = self.params
            if draw and seed is not None:  # the same seed would give the same answer again
                params = msgspec.structs.replace(params, seed=seed + draw)
            request = ChatRequest(question.messages, params, draw)
            yield ModelRequest(request, id_, request.prompt_sha256)


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

    def write_to(self, manifest: Manifest) -> None:
        """Write the counts into the manifest of the run."""
        manifest.outcomes = {
            name: self.counts[name] for name in ("answered", "truncated", "too_long", "error")
        }
        manifest.refusals = self.refusals
        manifest.errors = dict(self.reasons.most_common())
        manifest.answered_by = dict(self.answered_by.most_common())


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
        prompt = ChatRequest(drawn.question.messages).prompt_sha256
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
        text, failure = response.text if response else "", None
        if response is None:
            failure = Failure(Status.ERROR, "the model was not asked")
        elif response.status is Status.TRUNCATED:
            failure = Failure(Status.TRUNCATED, "the reply ended at the token limit")
        elif response.status is not None:
            failure = Failure(response.status, response.error or "the call failed")
        if len(text) > Record.MAX_RESPONSE_CHARS:
            reason = (
                f"the reply has {len(text):,} characters; expected an answer of at most "
                f"{Record.MAX_RESPONSE_CHARS:,} characters"
            )
            return "", failure or Failure(Status.ERROR, reason)
        try:
            trim = self.questionnaire.task.trim
            return trim(text) if trim else text, failure
        except BaseException as error:
            if not fails_alone(error):
                raise
            return text, Failure(Status.ERROR, f"the reply cannot be read: {raised(error)}")


class RunReplies(ReplyStore):
    """Keeps the replies of a run in its log, by the ids of the items."""

    def __init__(self, model: ChatModel, log: ResponseLog, tick: Callable[[], None]) -> None:
        """`tick` is called for every reply."""
        self._log = log
        self._tick = tick
        # A model that is a file of replies has them by the ids of the items.
        self._reply_for: Callable[[str], Reply | None] = getattr(
            model, "reply_for", lambda _id: None
        )

    def load(self, slot: ReplySlot) -> Reply | None:
        """Return the reply that the model has on file."""
        return self._reply_for(slot.id)

    def keep(
        self, slot: ReplySlot, reply: Reply, seconds: float | None, *, is_cached: bool
    ) -> None:
        """Append the reply to the log. Raises WriteError."""
        response = Response.of(slot.id, slot.prompt_sha256, reply, seconds, is_cached)
        self._log.append(response)
        self._tick()
