"""How a benchmark run asks and scores. Light: the command reads the options here."""

# No `from __future__ import annotations`: options are read from the annotations as values.

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Annotated

from trueground.evaluate.page_writer import PageWriter
from trueground.evaluate.score import By, KeepRecords, check_resamples
from trueground.models import Params, PriceTable
from trueground.options import (
    Cache,
    LabelsDrawn,
    Option,
    Progress,
    RateLabels,
    declared_options,
    do_nothing,
)

if TYPE_CHECKING:
    from trueground.evaluate.components import Components


_NO_PARAMS = Params()


def _default_components() -> "Components":
    from trueground.evaluate.components import Components

    return Components.make()


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How to ask and score: options of `tg.run` and `trueground run`.

    `params` are the user's and win over those of the task's scheme. `seed` is that of the
    intervals, `resamples` their number of bootstrap samples. `also` are metrics in addition to the
    task's. `time_limit` is in seconds and for this session only. `poll_seconds` is how soon the
    batches are looked at again for the first time; it grows to a minute.
    """

    params: Params = _NO_PARAMS
    limit: Annotated[int | None, Option("Use only the first N questions.", min=1)] = None
    repeats: Annotated[int, Option("Answers per question.", min=1)] = 1
    by: By = ()
    also: Annotated[
        Sequence[str],
        Option("Additional metrics, as in `score --metrics`. Repeatable.", type=list[str] | None),
    ] = ()
    seed: Annotated[
        int, Option("Random seed, for the model and for intervals.", min=0, max=Option.MAX_SEED)
    ] = 0
    resamples: int = 2_000
    cache: Cache = True
    retry_failed: Annotated[bool, Option("Retry only the failed requests.")] = False
    batch: Annotated[bool, Option("Use the endpoint's batch API: cheaper but slower.")] = False
    poll_seconds: Annotated[
        float, Option("With --batch, seconds until the first status check.", "--poll", min=0.01)
    ] = 5.0
    prices: PriceTable = None
    time_limit: Annotated[
        float | None, Option("Stop after this many seconds. Rerun to resume.", min=0.01)
    ] = None
    keep_records: KeepRecords = True
    labels: RateLabels = ()
    labels_drawn: LabelsDrawn = None
    command: Sequence[str] = ()

    def __post_init__(self) -> None:
        declared_options(type(self)).check(vars(self))
        check_resamples(self.resamples)

    def with_components(
        self,
        components: "Components",
        *,
        progress: Progress = do_nothing,
        shard: tuple[int, int] | None = None,
        write_page: PageWriter | None = None,
    ) -> "RunSettings":
        """Return the settings of a run that asks and scores with these options and components."""
        options = {option.name: getattr(self, option.name) for option in fields(RunOptions)}
        return RunSettings(
            **options,
            components=components,
            progress=progress,
            shard=shard,
            write_page=write_page,
        )


@dataclass(frozen=True, kw_only=True)
class RunSettings(RunOptions):
    """The options of a run, with what the frame adds to them.

    `components` split, judge and rate; the caller that makes them closes them. `shard` is (number
    from 0, how many) if only that part of the questions is asked. `write_page` adds the page of
    the run.
    """

    components: "Components" = field(default_factory=_default_components)
    shard: tuple[int, int] | None = None
    progress: Progress = do_nothing
    write_page: PageWriter | None = None
