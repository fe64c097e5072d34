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

    If `out` contains an unfinished run of the same input and options, the run is resumed.

    Args:
        records: A path or URL, several of them, a polars or pandas data frame, or an iterable of
            dicts or `Record` objects.
        metrics: Names of metrics, as a list or comma-separated. None: the default metrics whose
            fields are present.
        judge: The judge that checks claims, or several. Headline metrics use the first.
        judge_calibration: Calibration files of the judges, written by `judge calibrate`.
        decomposer: How answers are split into claims: "rules" or "llm:MODEL".
        rater: Model that rates fluency and other qualities, such as "llm:MODEL".
        cache: Whether replies of models are read from and written to the cache.
        out: Run directory to write. None: nothing is written.
        overwrite: Whether to replace `out` if it exists.
        by: Fields to break results down by.
        repeats_of: Field that identifies the question if questions have several answers.
        labels: Files with human labels of some answers. The summary then has `corrected`, the
            estimated rates for all answers.
        labels_drawn: "random" if the labeled answers are a random sample and the files don't
            say so.
        mapping: Your column names by field. Column names of other tools are recognized.
        split_contexts: Separator if all contexts of a record are one text.
        on_bad_row: "stop" raises an error at invalid rows, "skip" leaves them out.
        limit: Use only the first records.
        seed: Random seed.
        resamples: Number of bootstrap samples.
        workers: Number of processes. None: depends on the input size. Scripts that use more
            than one need `if __name__ == "__main__":`.
        keep_records: Whether the run directory includes the records.
        unique: Whether to append a number to `out` if it exists.
        require: Metrics that the run must include.
        command: Command line to store with the run.
        progress: True for progress bars on standard error, or a function that is called with
            phase, done and total.

    Returns:
        The result, with the summary, a frame of items and the evidence.

    Raises:
        BadRowsError: Rows are invalid.
        InputError: The input can't be read.
        UsageError: A name or an option is invalid.
        OutputError: `out` can't be used.
        WriteError: Writing failed during the work.
        WorkerError: A worker process was lost.
        RunInterrupted: The user pressed Ctrl-C.

    Example:
        >>> import trueground as tg
        >>> record = {"response": "It is blue.", "contexts": ["The sky is blue."]}
        >>> tg.score([record], metrics="k_precision").summary.n
        1
    """
    from trueground.api.result import make_showable

    return make_showable(request.score(write_page))


@takes_fields_of(ScoreRequest)
async def ascore(request: ScoreRequest) -> Result:
    """Score answers from an event loop. The work is done in a thread.

    Args:
        request: The arguments of `score`.

    Returns:
        The result, as from `score`.

    Raises:
        TruegroundError: As for `score`.

    Example:
        >>> result = await tg.ascore("answers.jsonl")  # doctest: +SKIP
    """
    import asyncio

    from trueground.api.result import make_showable

    return make_showable(await asyncio.to_thread(request.score, write_page))
