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
    """Run a benchmark with a model, and score its answers.

    You can call it while an event loop runs. If a run is interrupted, call it with the same
    arguments to resume it.

    Args:
        benchmark: A benchmark's task, such as "faitheval/unanswerable".
        model: A name as for `trueground run --model`, or a `ChatModel`.
        out: Run directory. None: runs/<utc-time>-<name>.
        options: Options of the benchmark.
        judge: The judge that checks claims. None: the benchmark's judge.
        decomposer: As for `score`.
        rater: As for `score`.
        judge_calibration: As for `score`.
        params: Sampling parameters of the model.

    Returns:
        The result, as from `score`.

    Raises:
        UsageError: A name or an option is invalid.
        InputError: Data of the benchmark can't be read.
        OutputError: `out` can't be used.
        UnreachableError: No request succeeded.
        WriteError: Writing failed during the work.
        RunInterrupted: The user pressed Ctrl-C.

    Example:
        >>> run = tg.run("faitheval/unanswerable", "gpt-4o", limit=50)  # doctest: +SKIP
        >>> run.summary.verdicts  # doctest: +SKIP
    """
    from trueground.api.result import make_showable

    return make_showable(request.run(write_page))


@takes_fields_of(RunRequest)
async def arun(request: RunRequest) -> Result:
    """Run a benchmark from an event loop. Scoring is done in a thread.

    Args:
        request: The arguments of `run`.

    Returns:
        The result, as from `score`.

    Raises:
        TruegroundError: As for `run`.

    Example:
        >>> run = await tg.arun("faitheval/unanswerable", "gpt-4o")  # doctest: +SKIP
    """
    from trueground.api.result import make_showable

    return make_showable(await request.arun(write_page))
