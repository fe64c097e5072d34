"""Kinds of values that several commands take."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """How a result is printed."""

    TEXT = "text"
    JSON = "json"


class OnBadRow(StrEnum):
    """What becomes of rows that are no records."""

    STOP = "stop"
    SKIP = "skip"


Judges = Annotated[
    list[str] | None,
    typer.Option(
        "--judge",
        help="Who checks claims: NAME, NAME:MODEL or NAME:MODEL(option=value). Repeatable; the "
        "first gives the headlines. Default: lexical.",
    ),
]
JudgeCalibration = Annotated[
    list[Path] | None,
    typer.Option(
        "--judge-calibration",
        help="FILE of `judge calibrate`: threshold and probabilities of the judge that it is of. "
        "Repeatable, one a judge.",
    ),
]
Decomposer = Annotated[
    str, typer.Option(help="Who splits answers into claims: rules, or llm:MODEL(option=value).")
]
Rater = Annotated[
    str | None,
    typer.Option(help="Who rates fluency and the like: llm:MODEL(option=value)."),
]
MapOption = Annotated[
    list[str] | None, typer.Option("--map", help="Your column names: question=query,contexts=docs")
]
OnBadRowOption = Annotated[OnBadRow, typer.Option("--on-bad-row", help="stop, or skip.")]
LabelOption = Annotated[
    str | None,
    typer.Option(
        "--label",
        help="Key of `human`; several annotators stand as LABEL:ANNOTATOR. Default: faithful, else "
        "the only one.",
    ),
]
LabelFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--labels", help="Labels of `trueground annotate`, beside the records. Repeatable."
    ),
]
PositiveAbove = Annotated[
    float, typer.Option("--positive-above", help="A label above this is positive.")
]
Seed = Annotated[
    int, typer.Option("--seed", min=0, max=2**63 - 1, help="Seed of all that is drawn.")
]
Resamples = Annotated[int, typer.Option("--resamples", min=1, help="Bootstrap samples.")]
Level = Annotated[float, typer.Option("--level", help="Level of the intervals, between 0 and 1.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace --out.")]
NoCache = Annotated[
    bool, typer.Option("--no-cache", help="Neither read nor write what is kept of earlier calls.")
]
FormatOption = Annotated[Format, typer.Option("--format", help="text or json.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", help="No summary, no progress; errors and JSON still print.")
]
NoProgress = Annotated[bool, typer.Option("--no-progress", help="No progress bar.")]
