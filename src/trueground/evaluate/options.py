"""Options that scoring, running and the studies share: who judges, splits and rates."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trueground.options import Option

if TYPE_CHECKING:
    from trueground.claims import Decomposer
    from trueground.judges import Judge
    from trueground.judges.rating import Rater


Judges = Annotated[
    "str | Judge | Sequence[str | Judge] | None",
    Option(
        "Who checks claims: NAME, NAME:MODEL or NAME:MODEL(option=value). Repeatable; the first "
        "gives the headlines. Default: lexical.",
        "--judge",
        type=list[str] | None,
    ),
]
JudgeCalibrations = Annotated[
    "str | Path | Sequence[str | Path] | None",
    Option(
        "FILE of `judge calibrate`: threshold and probabilities of the judge that it is of. "
        "Repeatable, one a judge.",
        "--judge-calibration",
        type=list[Path] | None,
    ),
]
DecomposerName = Annotated[
    "str | Decomposer",
    Option("Who splits answers into claims: rules, or llm:MODEL(option=value).", type=str),
]
RaterName = Annotated[
    "str | Rater | None",
    Option("Who rates fluency and the like: llm:MODEL(option=value).", type=str | None),
]
EngineName = Annotated[
    str | None,
    Option(
        "Score in shards, on `local` processes or on `ray`, `ray:ADDRESS`: a Ray cluster.",
        "--engine",
    ),
]
ShardCount = Annotated[
    int | None,
    Option("Score in N shards, each kept when done. Default: one a 128 MiB.", "--shards", min=1),
]
OneShard = Annotated[
    str | None,
    Option("I/N: only shard I of N, from 1; when all are done: trueground merge OUT.", "--shard"),
]
