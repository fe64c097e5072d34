"""How a run asks and scores, and what follows from it: the calls, and the plan of the scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from trueground.benchmarks.base import Task
from trueground.errors import UsageError
from trueground.evaluate.parts import Parts, make_parts
from trueground.evaluate.plan import Plan, make_plan
from trueground.evaluate.questioned import BY_ID, REPEAT
from trueground.evaluate.questions import Questionnaire
from trueground.evaluate.work import Progress, no_progress
from trueground.models.base import Params
from trueground.models.pricing import Prices


@dataclass(frozen=True)
class RunSettings:
    """How to ask and score; the fields are options of `trueground run`.

    `params` are the user's own and win over those of the task's scheme. `seed` is that of the
    intervals. `also` are metrics beside the task's own. `parts` are who splits, judges and rates;
    who makes them also closes them. `time_limit` is in seconds and for this session only.
    `poll_seconds` is how soon the batches are looked at again, for the first time; it grows to a
    minute.
    """

    params: Params = field(default_factory=Params)
    limit: int | None = None
    repeats: int = 1
    by: Sequence[str] = ()
    also: Sequence[str] = ()
    seed: int = 0
    resamples: int = 2_000
    parts: Parts = field(default_factory=make_parts)
    cache: bool = True
    retry_failed: bool = False
    batch: bool = False
    poll_seconds: float = 5.0
    prices: Prices | None = None
    time_limit: float | None = None
    keep_records: bool = True
    progress: Progress = no_progress
    command: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name, least in (("repeats", 1), ("limit", 1), ("seed", 0), ("resamples", 1)):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < least):
                raise UsageError(f"{name}={value!r}; it must be a whole number, {least} or more")
        if not 0 < self.poll_seconds < float("inf"):
            raise UsageError(f"poll_seconds={self.poll_seconds!r}; it must be above 0")


def questionnaire(task: Task, settings: RunSettings) -> Questionnaire:
    """The task with the user's parameters over those of its scheme."""
    own = {k: v for k, v in msgspec.structs.asdict(settings.params).items() if v not in (None, ())}
    if not own.get("extra"):
        own.pop("extra", None)
    params = msgspec.structs.replace(task.params, **own)
    return Questionnaire(task, params, settings.limit, settings.repeats)


def run_plan(task: Task, settings: RunSettings) -> Plan:
    """The task's metrics under these settings; repeated runs are also told one by one."""
    repeats = [f"meta.{REPEAT}"] if settings.repeats > 1 else []
    return make_plan(
        (),
        [*task.metrics, *settings.also],
        settings.parts,
        by=tuple(dict.fromkeys((*task.by, *settings.by, *repeats))),
        seed=settings.seed,
        resamples=settings.resamples,
        keep_records=settings.keep_records,
        repeats_of=BY_ID if settings.repeats > 1 else None,
    )
