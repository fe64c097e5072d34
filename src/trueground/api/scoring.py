"""`tg.score`, and `tg.ascore` for event loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trueground.api.pages import write_page
from trueground.api.requests import takes_fields_of
from trueground.evaluate import ScoreRequest

if TYPE_CHECKING:
    from trueground.api.result import Result


@takes_fields_of(ScoreRequest)
def score(request: ScoreRequest) -> Result:
    """Score answers and summarize them.

    `records` is a path or URL (or several), a polars or pandas data frame, or an iterable of dicts
    or Records (contract, section 1). `metrics` are names or one comma-separated text; without them
    every metric of the default set whose fields are present is computed. Of several judges the
    first gives the headlines. With `out`, a run directory is written there (section 2); without it
    nothing is written. If `out` holds an unfinished run of the same input and options, it is
    resumed. With `unique` a number is put behind `out` where it exists. `workers` of
    None are as many processes as the number of records is worth; more than one needs a script
    guarded by `__name__`. `require` are metrics that must be in the run.

    `labels` are files with people's labels of some of the answers, by id or of `trueground
    annotate`: `corrected` in the summary has the rates that people would give all of them
    (docs/rates.md). `labels_drawn` says that these answers were drawn at random, where the files do
    not tell how they were drawn.

    `mapping` names your columns; without it those of other tools are known
    too (docs/records.md). `split_contexts` cuts contexts that are one text. `progress=True` draws
    bars on standard error; a function is called with phase, done and total instead.

    Raises BadRowsError and InputError for the input, UsageError for names and options, OutputError
    for the folder, WriteError when writing stops midway, WorkerError when a process is lost,
    RunInterrupted on Ctrl-C.
    """
    from trueground.api.result import make_showable

    return make_showable(request.score(write_page))


@takes_fields_of(ScoreRequest)
async def ascore(request: ScoreRequest) -> Result:
    """`score` for callers that own an event loop: the work is done in a thread."""
    import asyncio

    from trueground.api.result import make_showable

    return make_showable(await asyncio.to_thread(request.score, write_page))
