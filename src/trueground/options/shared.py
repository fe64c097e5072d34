"""Options that several functions have, and the callbacks that they take."""

# No `from __future__ import annotations` here and in modules that declare options as parameters of
# functions: annotations are read as values, without importing the modules of heavy types.
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Literal

from trueground.options.option import Option

# progress(phase, done, total); total is None if unknown. Phases: "check", "ask", "score", "report".
Progress = Callable[[str, int, int | None], None]

_SEED = Option("Random seed.", "--seed", min=0, max=Option.MAX_SEED)
_RESAMPLES = Option("Number of bootstrap samples.", "--resamples", min=1)
_LEVEL = Option(
    "Confidence level, between 0 and 1.",
    "--level",
    min=0,
    max=1,
    above=True,
    below=True,
)

OnBadRow = Annotated[
    Literal["stop", "skip"], Option("Whether to stop at an invalid row or skip it.", "--on-bad-row")
]
Seed = Annotated[int, _SEED]
Resamples = Annotated[int, _RESAMPLES]
Level = Annotated[float, _LEVEL]
Overwrite = Annotated[bool, Option("Replace --out if it exists.", "--overwrite")]
Cache = Annotated[bool, Option("Don't read or write the cache.", "--no-cache")]
Workers = Annotated[
    int | None,
    Option("Number of processes. Default: depends on the input size.", min=1, default=None),
]
RateLabels = Annotated[
    str | Path | Sequence[str | Path],
    Option(
        "Human labels of some answers, to estimate the rate for all answers. "
        "JSONL with id and human, or from `trueground annotate`. Repeatable.",
        "--labels",
        type=list[Path] | None,
    ),
]
LabelsDrawn = Annotated[
    Literal["random"] | None,
    Option(
        ("State that the labeled answers are a random sample, if the --labels file doesn't."),
        "--labels-drawn",
    ),
]


def do_nothing(*_reported: object) -> None:
    """Ignore what is reported: the default of callbacks for progress and messages."""
