"""Progress bars: on standard error for `progress=True`, and the columns that commands draw, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from trueground.errors import UsageError
from trueground.options import Progress, do_nothing

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import ProgressColumn


_PHASES = {
    "check": "checking rows",
    "ask": "asking",
    "count": "counting rows",
    "score": "scoring",
    "merge": "merging shards",
    "report": "drawing the page",
    "see": "reading files",
    "search": "searching",
    "link": "linking",
    "measure": "measuring",
}


@contextmanager
def open_progress(
    progress: Progress | bool | None,
    *,
    console: Console | None = None,
    file_label: Callable[[str], str] | None = None,
    transient: bool = False,
) -> Iterator[Progress]:
    """Yield the callback that a public function reports its progress to.

    Args:
        progress: A callback of phase, done and total, used as it is; True for bars, which end
            with the block; False or None for nothing.
        console: Where to draw bars. Default: standard error.
        file_label: If given, phases are names of files, which it makes fit to be shown, and the
            bars count bytes.
        transient: Erase the bars at the end.

    Raises:
        UsageError: It is none of these.
    """
    if progress is None or progress is False:
        yield do_nothing
    elif progress is True:
        from rich.console import Console

        bars = console or Console(stderr=True)
        with _draw_bars(bars, file_label=file_label, transient=transient) as show:
            yield show
    elif callable(progress):
        yield progress
    else:
        raise UsageError(
            f"progress={type(progress).__name__} ({progress!r}); expected True, False, or a "
            "function of phase, done and total"
        )


def _count_columns() -> list[ProgressColumn]:
    """Return the columns of a bar that counts: phase, bar, done of total, rate, time left."""
    from rich import progress as rich

    return [
        rich.TextColumn("{task.description:>16}"),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TextColumn("{task.fields[rate]}"),
        rich.TimeRemainingColumn(compact=True),
    ]


def _file_columns() -> list[ProgressColumn]:
    """Return the columns of a bar of bytes: name of the file, bar, size, speed, time left."""
    from rich import progress as rich

    return [
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(),
        rich.DownloadColumn(),
        rich.TransferSpeedColumn(),
        rich.TimeRemainingColumn(compact=True),
    ]


@contextmanager
def _draw_bars(
    console: Console, *, file_label: Callable[[str], str] | None, transient: bool
) -> Iterator[Progress]:
    """Draw one bar for each phase that is reported."""
    from rich.progress import Progress as Bars, TaskID

    columns = _count_columns() if file_label is None else _file_columns()

    with Bars(*columns, console=console, transient=transient) as bars:
        tasks: dict[str, TaskID] = {}

        def show(phase: str, done: int, total: int | None) -> None:
            if phase not in tasks:
                label = _PHASES.get(phase, phase) if file_label is None else file_label(phase)
                tasks[phase] = bars.add_task(label, total=total, rate="")
            speed = bars.tasks[tasks[phase]].speed
            rate = f"{speed:,.0f}/s" if speed else ""
            bars.update(tasks[phase], completed=done, total=total, rate=rate)

        yield show
