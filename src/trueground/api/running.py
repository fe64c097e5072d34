"""`tg.run`, and `tg.arun` for event loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trueground.api.pages import write_page
from trueground.api.requests import takes_fields_of
from trueground.evaluate import RunRequest

if TYPE_CHECKING:
    from trueground.api.result import Result


@takes_fields_of(RunRequest)
def run(request: RunRequest) -> Result:
    """Ask a model the questions of a benchmark's task ("faitheval/unanswerable"), and score.

    `model` is a name as for `trueground run --model`, or any ChatModel. `out` is the run directory,
    where a run that was broken off goes on; without it a new one, runs/<utc-time>-<name>. `options`
    are those of the benchmark. `judge` (None: the benchmark's under these options), `decomposer`,
    `rater` and `judge_calibration` are as for `score`; `params` and all that follows are as in
    `RunSettings`. May be called where an event loop runs.

    Raises UsageError, InputError, OutputError, UnreachableError, RunInterrupted and WriteError.
    """
    from trueground.api.result import make_showable

    return make_showable(request.run(write_page))


@takes_fields_of(RunRequest)
async def arun(request: RunRequest) -> Result:
    """`run` for callers that own an event loop: calls are made in it, scoring in a thread."""
    from trueground.api.result import make_showable

    return make_showable(await request.arun(write_page))
