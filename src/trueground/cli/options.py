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
    Path | None,
    typer.Option(
        "--judge-calibration",
        help="FILE of `judge calibrate`: threshold and probabilities of the judge that it is of.",
    ),
]
Decomposer = Annotated[
    str, typer.Option(help="Who splits answers into claims: rules, or llm:MODEL(option=value).")
]
Rater = Annotated[
    str | None,
    typer.Option(help="Who rates fluency and the like: llm:MODEL(option=value)."),
]
FormatOption = Annotated[Format, typer.Option("--format", help="text or json.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", help="No summary, no progress; errors and JSON still print.")
]
NoProgress = Annotated[bool, typer.Option("--no-progress", help="No progress bar.")]
