"""The calls of a task, and the records that its answers make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from trueground.benchmarks.base import Question, Task
from trueground.errors import InputError, fails_alone
from trueground.evaluate.asking import Call
from trueground.evaluate.questioned import REPEAT
from trueground.models.base import ChatRequest, Params, writable
from trueground.models.cached import prompt_sha256
from trueground.net.redact import raised
from trueground.records.schema import AT_MOST, LARGEST_RESPONSE
from trueground.runs.responses import Response, ResponseLog
from trueground.types import Answered, Failure, Record, Status

_BATCH = 1024
_REASONS = 20  # different reasons of failures that the manifest tells
_OTHER = "(other reasons)"


class Drawn(NamedTuple):
    """One of the answers wanted for a question; where there are several, ids are `id#1`, `id#2`."""

    id: str
    question: Question
    draw: int


@dataclass(frozen=True)
class Questionnaire:
    """What is asked in a run: a task's questions, how many of them, how often, and how."""

    task: Task
    params: Params
    limit: int | None = None
    repeats: int = 1

    def drawn(self) -> Iterator[Drawn]:
        """Every answer wanted, in input order. Raises InputError for a row that is no question."""
        for question in islice(self.task.questions(), self.limit):
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


@dataclass
class Outcome:
    """What became of the items, over all sessions of a run; the counts add up to the items."""

    counts: Counter[str] = field(default_factory=Counter)
    refusals: int = 0
    answered_by: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, response: Response | None) -> None:
        """Count one item."""
        self.counts["answered" if response and not response.status else _word(response)] += 1
        if response is None:
            return
        self.refusals += response.refusal
        if response.model:
            self.answered_by[response.model] += 1
        if response.error:
            known = len(self.reasons) < _REASONS or response.error in self.reasons
            self.reasons[response.error if known else _OTHER] += 1

    def as_json(self) -> dict[str, Any]:
        """The part of the manifest that tells of the calls."""
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

    asked: Questionnaire
    log: ResponseLog
    model: str
    outcome: Outcome

    def batches(self) -> Iterator[list[Record]]:
        """Records with their responses; those that have none carry the reason."""
        batch: list[Record] = []
        for drawn in self.asked.drawn():
            batch.append(self._record(drawn))
            if len(batch) == _BATCH:
                yield batch
                batch = []
        if batch:
            yield batch

    def _record(self, drawn: Drawn) -> Record:
        response = self.log.get(drawn.id)
        messages = drawn.question.messages
        if response is not None and response.prompt_sha256 != prompt_sha256(messages):
            raise InputError(
                f"the question of {drawn.id!r} is not the one that was answered: the data changed "
                "while the run went on. Put back what they were, or choose another --out"
            )
        self.outcome.add(response)
        record = msgspec.structs.asdict(drawn.question.record)
        text, failure = self._answer(response)
        changed: dict[str, Any] = {
            "id": drawn.id,
            "response": text,
            "model": self.model,
        }
        if self.asked.repeats > 1:
            changed["group"] = record["group"] or record["id"]
            changed["meta"] = {**(record["meta"] or {}), REPEAT: str(drawn.draw + 1)}
        return Answered(**(record | changed), failure=failure)

    def _answer(self, response: Response | None) -> tuple[str, Failure | None]:
        """What is scored of a reply, or why nothing is."""
        text = writable((response.response if response else None) or "")
        failure = _failure(response)
        if len(text) > LARGEST_RESPONSE:
            found = f"the reply has {len(text):,} characters; expected {AT_MOST}"
            return "", failure or Failure(Status.ERROR, found)
        try:
            return self.asked.task.trim(text) if self.asked.task.trim else text, failure
        except BaseException as error:
            if not fails_alone(error):
                raise
            return text, Failure(Status.ERROR, f"the reply cannot be read: {raised(error)}")


def _word(response: Response | None) -> str:
    return response.status.value if response and response.status else Status.ERROR.value


def _failure(response: Response | None) -> Failure | None:
    """Why an item cannot be scored; None where it can."""
    if response is None:
        return Failure(Status.ERROR, "the model was not asked")
    if response.status is None:
        return None
    if response.status is Status.TRUNCATED:
        return Failure(Status.TRUNCATED, "the reply ended at the token limit")
    return Failure(response.status, response.error or "the call failed")
