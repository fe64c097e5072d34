"""Options that several studies have."""

# No `from __future__ import annotations`: annotations are read as values.
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from trueground.options import Option

Label = Annotated[
    str | None,
    Option(
        "Key of `human` (several annotators: LABEL:ANNOTATOR). Default: faithful, else the only "
        "one.",
        "--label",
    ),
]
LabelPaths = Annotated[
    Sequence[str | Path],
    Option(
        "Labels of `trueground annotate` for the records. Repeatable.",
        "--labels",
        type=list[Path] | None,
    ),
]
PositiveAbove = Annotated[float, Option("A label above this is positive.", "--positive-above")]
