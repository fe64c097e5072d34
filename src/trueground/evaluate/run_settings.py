"""How a benchmark run asks and scores. Light: the command reads the options here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from trueground.models.base import Params
from trueground.models.options import PriceTable
from trueground.options import (
    By,
    Cache,
    KeepRecords,
    LabelsDrawn,
    Option,
    Progress,
    RateLabels,
    check_whole_numbers,
    no_progress,
)

if TYPE_CHECKING:
    from trueground.evaluate.parts import Parts

_NO_PARAMS = Params()

Limit = Annotated[int | None, Option("Only the first N questions.", min=1)]
Repeats = Annotated[int, Option("Answers to each question.", min=1)]
Also = Annotated[
    Sequence[str],
    Option("Metrics beside the benchmark's own, as for score. Repeatable.", type=list[str] | None),
]
RetryFailed = Annotated[bool, Option("Ask again what failed, and only that.")]
Batch = Annotated[bool, Option("Through the endpoint's batch files: slower, cheaper.")]
PollSeconds = Annotated[
    float, Option("--batch: seconds to the first look; grows to 60.", "--poll", min=0.01)
]
TimeLimit = Annotated[float | None, Option("Seconds for this session; resume later.", min=0.01)]


def _default_parts() -> Parts:
    from trueground.evaluate.parts import make_parts

    return make_parts()


@dataclass(frozen=True)
class RunSettings:
    """How to ask and score; the fields are options of `trueground run`.

    `params` are the user's own and win over those of the task's scheme. `seed` is that of the
    intervals. `also` are metrics beside the task's own. `parts` are who splits, judges and rates;
    who makes them also closes them. `time_limit` is in seconds and for this session only.
    `shard` is (number from 0, how many) where only that part of the questions is asked.
    `poll_seconds` is how soon the batches are looked at again, for the first time; it grows to a
    minute.
    """

    params: Params = _NO_PARAMS
    limit: Limit = None
    repeats: Repeats = 1
    by: By = ()
    also: Also = ()
    seed: int = 0
    resamples: int = 2_000
    parts: Parts = field(default_factory=_default_parts)
    cache: Cache = True
    retry_failed: RetryFailed = False
    batch: Batch = False
    poll_seconds: PollSeconds = 5.0
    prices: PriceTable = None
    time_limit: TimeLimit = None
    keep_records: KeepRecords = True
    labels: RateLabels = ()
    labels_drawn: LabelsDrawn = None
    shard: tuple[int, int] | None = None
    progress: Progress = no_progress
    command: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_whole_numbers(
            repeats=(self.repeats, 1),
            limit=(self.limit, 1),
            seed=(self.seed, 0),
            resamples=(self.resamples, 1),
        )
        if not 0 < self.poll_seconds < float("inf"):
            from trueground.errors import UsageError

            raise UsageError(f"poll_seconds={self.poll_seconds!r}; it must be above 0")
