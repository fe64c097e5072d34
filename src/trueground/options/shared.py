"""Options that several functions have, and the callbacks that they take."""

# No `from __future__ import annotations` here and in modules that declare options as parameters of
# functions: annotations are read as values, without importing the modules of heavy types.
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Literal

from trueground.options.option import Option

# progress(phase, done, total); total is None if unknown. Phases: "check", "ask", "score", "report".
Progress = Callable[[str, int, int | None], None]

_SEED = Option("Seed of all random sampling.", "--seed", min=0, max=Option.MAX_SEED)
_RESAMPLES = Option("Bootstrap samples.", "--resamples", min=1)
_LEVEL = Option(
    "Confidence level of the intervals, between 0 and 1.",
    "--level",
    min=0,
    max=1,
    above=True,
    below=True,
)

OnBadRow = Annotated[Literal["stop", "skip"], Option("stop, or skip.", "--on-bad-row")]
Seed = Annotated[int, _SEED]
Resamples = Annotated[int, _RESAMPLES]
Level = Annotated[float, _LEVEL]
Overwrite = Annotated[bool, Option("Replace --out.", "--overwrite")]
Cache = Annotated[
    bool, Option("Neither read nor write what is kept of earlier calls.", "--no-cache")
]
Workers = Annotated[int | None, Option("Processes. Default: by size.", min=1, default=None)]
RateLabels = Annotated[
    str | Path | Sequence[str | Path],
    Option(
        "People's labels of some answers: the rate that people would give all of them, with an "
        "interval. JSON lines with id and human, or of `trueground annotate`. Repeatable.",
        "--labels",
        type=list[Path] | None,
    ),
]
LabelsDrawn = Annotated[
    Literal["random"] | None,
    Option(
        "random: the answers in --labels were drawn at random, where the file does not say so.",
        "--labels-drawn",
    ),
]


def do_nothing(*_reported: object) -> None:
    """Ignore what is reported: the default of callbacks for progress and messages."""
