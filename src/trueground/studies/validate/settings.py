"""How to validate: the options of the command, checked before any work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, get_args

from trueground.errors import UsageError, unknown_name
from trueground.evaluate.calibrating import Calibrations
from trueground.evaluate.parts import JudgeName, Parts, make_parts
from trueground.evaluate.work import Progress, no_progress
from trueground.metrics.base import Spec
from trueground.metrics.registry import parse_specs, split_specs
from trueground.plugins import split_key
from trueground.studies.validate.numbers import Verdict

if TYPE_CHECKING:
    from trueground.claims import Decomposer
    from trueground.judges.rating import Rater


_OF_SINGLE = ("ordinal", "labels", "keep", "with_published")  # what is not for pairs


class ValidateOptions(TypedDict, total=False):
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
    verdict: Verdict | None
    with_published: bool
    pairs: bool
    labels: Sequence[str | Path]
    keep: Mapping[str, float]
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
    verdict: Verdict | None = (
        None  # None: above; at-least beside a paper's table, as the paper has it
    )
    with_published: bool = False
    pairs: bool = False
    labels: Sequence[str | Path] = ()  # files of `trueground annotate`
    keep: Mapping[str, float] = field(default_factory=dict)  # other labels, and what they must be
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
        if self.verdict is not None and self.verdict not in get_args(Verdict):
            raise unknown_name("verdict", self.verdict, get_args(Verdict))
        given = [name for name in _OF_SINGLE if getattr(self, name)]
        if self.pairs and given:
            name = given[0].replace("_", "-")
            raise UsageError(f"{name} is for labels of single responses; leave it out with pairs")

    @property
    def verdict_meant(self) -> Verdict:
        """Whether a score at the threshold is a yes: so it is in a paper's table."""
        return self.verdict or ("at-least" if self.with_published else "above")

    def parts(self) -> Parts:
        """Judge, decomposer and rater. Raises UsageError, InputError."""
        return make_parts(
            self.judge or "lexical",
            self.decomposer or "rules",
            self.rater,
            cache=self.cache,
            calibration=self.judge_calibration,
        )

    def check_names(self) -> None:
        """UsageError for a metric that does not exist; those of runs may stand for judges."""
        if self.metrics is None:
            return
        given = [self.metrics] if isinstance(self.metrics, str) else self.metrics
        texts = [p for part in given if isinstance(part, str) for p in split_specs(part)]
        parse_specs([split_key(text).spec for text in texts] or list(given))

    def check_judging(self) -> None:
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
