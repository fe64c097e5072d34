"""`tg.read_run`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trueground.api.result import Result


def read_run(path: str | Path) -> Result:
    """Read the run directory of a finished run.

    You get the same object that `tg.score` and `tg.run` return. Texts and evidence stay on disk
    until you ask for them.

    Args:
        path: The run directory, such as `trueground score FILE --out DIR` writes.

    Returns:
        A `Result` with

        - `summary`: metrics by name, with `mean`, `ci` and counts; `summary.n`, `summary.by`,
          `summary.verdicts`;
        - `manifest`: what was computed, from what, and when;
        - `items`: a polars frame with one row per answer;
        - `item(ID)`: one answer with its scores, statuses, verdict and evidence;
        - `records()` and `record(ID)`: the records as they were scored.

    Raises:
        InputError: The folder has no finished run, a file is damaged, or a newer version of
            trueground wrote the run.

    Example:
        >>> run = tg.read_run("runs/mine")  # doctest: +SKIP
        >>> run.summary["f1"].mean  # doctest: +SKIP
        0.81
        >>> run.record("q7").question, run.item("q7").verdict  # doctest: +SKIP
        ('When was the tower finished?', 'not_grounded')
    """
    from trueground.api.result import make_showable
    from trueground.runs import read_run as read

    return make_showable(read(path))
