"""How to validate: the options of the command, checked before any work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict

from trueground.errors import UsageError
from trueground.evaluate.calibrating import Calibrations
from trueground.evaluate.parts import JudgeName, Parts, make_parts
from trueground.evaluate.work import Progress, no_progress
from trueground.metrics.base import Spec
from trueground.metrics.registry import parse_specs, split_specs
from trueground.plugins import split_key

if TYPE_CHECKING:
    from trueground.claims import Decomposer
    from trueground.judges.rating import Rater


class Given(TypedDict, total=False):
    """The fields of `Settings` as keywords; each has a default."""

    label: str | None
    metrics: str | Sequence[str | Spec] | None
    judge: JudgeName | Sequence[JudgeName] | None
    decomposer: str | Decomposer | None
    rater: str | Rater | None
    cache: bool
    judge_calibration: Calibrations | None
    positive_above: float
    ordinal: bool
    threshold: float
    pairs: bool
    labels: Sequence[str | Path]
    worst: int
    mapping: Mapping[str, str] | None
    on_bad_row: Literal["stop", "skip"]
    limit: int | None
    seed: int
    resamples: int
    level: float
    workers: int | None
    overwrite: bool
    progress: Progress
    command: Sequence[str]


@dataclass(frozen=True)
class Settings:
    """How to validate; the fields are the options of the command line."""

    label: str | None = None
    metrics: str | Sequence[str | Spec] | None = None
    judge: JudgeName | Sequence[JudgeName] | None = None  # None: lexical
    decomposer: str | Decomposer | None = None  # None: rules
    rater: str | Rater | None = None
    cache: bool = True
    judge_calibration: Calibrations | None = None
    positive_above: float = 0.5
    ordinal: bool = False
    threshold: float = 0.5
    pairs: bool = False
    labels: Sequence[str | Path] = ()  # files of `trueground annotate`
    worst: int = 10
    mapping: Mapping[str, str] | None = None
    on_bad_row: Literal["stop", "skip"] = "stop"
    limit: int | None = None
    seed: int = 0
    resamples: int = 2_000
    level: float = 0.95
    workers: int | None = 1
    overwrite: bool = False
    progress: Progress = no_progress
    command: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name, least in (("workers", 1), ("seed", 0), ("resamples", 1), ("worst", 0)):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < least):
                raise UsageError(f"{name}={value!r}; it must be a whole number, {least} or more")
        if not 0 < self.level < 1:
            raise UsageError(f"level={self.level!r}; it must be a number between 0 and 1")
        if not 0 <= self.threshold <= 1:
            raise UsageError(
                f"threshold={self.threshold!r}; scores from 0 to 1 are compared with it"
            )
        if self.pairs and (self.ordinal or self.labels):
            name = "ordinal" if self.ordinal else "labels"
            raise UsageError(f"{name} is for labels of single responses; leave it out with pairs")

    def parts(self) -> Parts:
        """Judge, decomposer and rater. Raises UsageError, InputError."""
        return make_parts(
            self.judge or "lexical",
            self.decomposer or "rules",
            self.rater,
            cache=self.cache,
            calibration=self.judge_calibration,
        )

    def see_names(self) -> None:
        """UsageError for a metric that does not exist; those of runs may stand for judges."""
        if self.metrics is None:
            return
        given = [self.metrics] if isinstance(self.metrics, str) else self.metrics
        texts = [p for part in given if isinstance(part, str) for p in split_specs(part)]
        parse_specs([split_key(text).spec for text in texts] or list(given))

    def see_judging(self) -> None:
        """UsageError: judges are named, and everything is judged already."""
        named = {
            "judge": self.judge,
            "decomposer": self.decomposer,
            "judge-calibration": self.judge_calibration,
        }
        for name, value in named.items():
            if value is not None:
                raise UsageError(
                    f"--{name} is for files of records; finished runs are judged already. Leave "
                    "it out, or name the files that the runs were made of"
                )
