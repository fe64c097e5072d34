"""Options that several studies have."""

# No `from __future__ import annotations`: annotations are read as values.

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from trueground.options import Option

Label = Annotated[
    str | None,
    Option(
        "Key in `human`; LABEL:ANNOTATOR if there are several annotators. "
        "Default: faithful, or the only key.",
        "--label",
    ),
]
LabelPaths = Annotated[
    Sequence[str | Path],
    Option(
        "Labels written by `trueground annotate`. Repeatable.",
        "--labels",
        type=list[Path] | None,
    ),
]
PositiveAbove = Annotated[
    float, Option("Labels above this value are positive.", "--positive-above")
]
