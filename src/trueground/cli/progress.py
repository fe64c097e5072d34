"""A progress bar on standard error, and only on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from trueground.cli.streams import guarded

if TYPE_CHECKING:
    from trueground.evaluate.work import Progress

_WORDS = {
    "check": "checking rows",
    "ask": "asking",
    "score": "scoring",
    "report": "drawing the page",
    "see": "reading files",
    "search": "searching",
    "link": "linking",
    "measure": "measuring",
}


@contextmanager
def progress_bar(off: bool) -> Iterator[Progress]:
    """A callback that draws: phase, how many of how many, rate, time left."""
    if off or not sys.stderr.isatty():
        yield lambda _phase, _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    # The bar's own control characters go to the terminal; what others write meanwhile does not.
    console = Console(file=sys.__stderr__)
    columns = (
        TextColumn("{task.description:>16}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        Remaining(compact=True),
    )
    with Progress(*columns, console=console, transient=True) as bar, guarded():
        tasks: dict[str, TaskID] = {}

        def show(phase: str, done: int, total: int | None) -> None:
            if phase not in tasks:
                tasks[phase] = bar.add_task(_WORDS.get(phase, phase), total=total, rate="")
            task = tasks[phase]
            speed = bar.tasks[task].speed
            bar.update(
                task,
                completed=done,
                total=total,
                rate=f"{speed:,.0f}/s" if speed else "",
            )

        yield show
