"""Run directories → checked values: which folders hold runs, and what each of them says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from trueground.errors import InputError
from trueground.runs import Manifest, RunFiles, Summary
from trueground.types import PromptFile, Status

DATASET = "meta.dataset"  # the field by which benchmarks of several sources are split
_CHECKSUM_DIGITS = 12  # that are shown
DEFAULT = "default"  # what prompts of ours are called
# Statuses that the question has, whatever the answer.
_NOT_ASKED = (Status.NOT_APPLICABLE, Status.MISSING_FIELD)

GROUNDED = "grounded"  # the share of answers with this verdict, beside the metrics of `score`


class MetricEntry(msgspec.Struct):
    """A mean with its interval and coverage; `values` is the number of groups averaged over.

    `sd` is the standard deviation of the groups' means, or of a paper's repeated runs.
    """

    mean: float | None = None
    ci: tuple[float, float] | None = None
    ci_level: float | None = None
    n: int | None = None
    scored: int | None = None
    unscored: dict[str, int] = {}
    values: int | None = None
    sd: float | None = None


class GroundedShare(msgspec.Struct):
    """The share of all answers that are grounded."""

    share: float | None = None
    ci: tuple[float, float] | None = None


class RunVerdicts(msgspec.Struct):
    """Of the verdicts what a leaderboard shows."""

    grounded: GroundedShare | None = None
    ci_level: float | None = None


class RunSummary(msgspec.Struct):
    """The parts of summary.json that a leaderboard uses."""

    metrics: dict[str, MetricEntry]
    n: int = 0
    verdicts: RunVerdicts | None = None
    averages: dict[str, dict[str, MetricEntry]] = {}
    by: dict[str, dict[str, dict[str, MetricEntry]]] = {}


@dataclass(frozen=True)
class BoardCell:
    """A value; `averaged_over` is set where it is an unweighted mean over that many datasets.

    `run` is the run's label, or `place` says where a paper has printed the number. `sd` is the
    standard deviation over `repeats` answers to each question; a paper need not say over how many.

    Where the mean is over fewer items than the `asked`, or than another run's in the column,
    `placed_by` is the mean with 0 for those that are missing (1 where lower is better), by which it
    is ranked: what a model leaves out, or declines, must not lift it above others.
    """

    mean: float | None
    ci: tuple[float, float] | None = None
    ci_level: float | None = None
    n: int | None = None
    scored: int | None = None
    unscored: dict[str, int] = field(default_factory=dict)
    averaged_over: int | None = None
    run: str | None = None
    place: str | None = None
    sd: float | None = None
    repeats: int | None = None
    asked: int | None = None
    placed_by: float | None = None

    @property
    def place_value(self) -> float | None:
        """What the cell is ranked by."""
        return self.mean if self.placed_by is None else self.placed_by

    @property
    def due(self) -> int:
        """How many answers the mean should be over: all but those that the metric is not about."""
        return (self.n or 0) - sum(self.unscored.get(status, 0) for status in _NOT_ASKED)


@dataclass(frozen=True)
class Run:
    """One run in its folder. `source` and `place` name the publication where it is a paper's."""

    label: str
    manifest: Manifest
    summary: RunSummary
    source: str | None = None
    place: str | None = None
    folder: Path | None = None

    @property
    def options(self) -> dict[str, Any]:
        """How the task was asked; none for a scoring run."""
        return self.manifest.benchmark.options if self.manifest.benchmark else {}

    @property
    def checksums(self) -> set[str | None]:
        """Of the files that it read; None among them for one that is not known."""
        return {file.sha256 for file in self.manifest.input}

    def short_checksums(self) -> str:
        """The beginnings of the checksums."""
        checksums = ((file.sha256 or "unknown")[:_CHECKSUM_DIGITS] for file in self.manifest.input)
        return ", ".join(sorted(checksums))

    def average(self, metric: str) -> MetricEntry | None:
        """The metric averaged over a benchmark's datasets, where it has several sources."""
        averages = self.summary.averages if self.manifest.benchmark else {}
        return averages.get(DATASET, {}).get(metric)

    def cell(self, metric: str, part: tuple[str, str] | None = None) -> BoardCell | None:
        """The average over datasets where there is one, else the mean over items; or none.

        With `part`, a field and its value, the mean over these items.
        """
        label = None if self.source else self.label
        if part is not None:
            entry = self.summary.by.get(part[0], {}).get(part[1], {}).get(metric)
            if entry is None:
                return None
            return BoardCell(entry.mean, entry.ci, n=entry.n, scored=entry.scored, run=label,
                             place=self.place)  # fmt: skip
        whole, average = self.summary.metrics.get(metric), self.average(metric)
        headline = average or whole
        if headline is None:
            return None
        counts = whole or MetricEntry()
        over = self.summary.averages.get(Summary.REPEAT_FIELD, {}).get(metric) if label else None
        return BoardCell(
            mean=headline.mean,
            ci=headline.ci,
            ci_level=headline.ci_level or counts.ci_level,
            n=counts.n,
            scored=counts.scored,
            unscored={reason: count for reason, count in counts.unscored.items() if count},
            averaged_over=average.values if average else None,
            run=label,
            place=self.place,
            sd=(over.sd if over else None) if label else counts.sd,
            repeats=over.values if over and over.sd is not None else None,
        )


def read_runs(paths: Sequence[Path]) -> list[Run]:
    """Read every run that the paths name or hold, ordered by label.

    Raises InputError that names each folder without a finished run, and the next step.
    """
    folders, problems = RunFiles.find_folders(paths)
    runs: list[Run] = []
    for label, folder in label_runs(folders):
        try:
            runs.append(_read(folder, label))
        except InputError as error:
            problems.append(str(error))
    if problems:
        raise InputError("\n".join(problems))
    return sorted(runs, key=lambda run: run.label)


def label_runs(folders: Sequence[Path]) -> list[tuple[str, Path]]:
    """Each folder with as many last parts of its path as tell it from the others.

    Two at least where the last one has no letter, as in a sweep over the values of an option: a
    run that is called "0.1" says nothing.
    """
    parts = {folder: folder.resolve().parts for folder in folders}
    labels = []
    for folder, parts_of_path in parts.items():
        others = [p for p in parts.values() if p is not parts_of_path]
        depth = 1 if any(map(str.isalpha, folder.resolve().name)) else 2
        while depth < len(parts_of_path) and any(
            p[-depth:] == parts_of_path[-depth:] for p in others
        ):
            depth += 1
        label = "/".join(parts_of_path[-depth:])  # which may have bytes that are no UTF-8
        labels.append((label.encode("utf-8", "replace").decode(), folder))
    return labels


def _read(folder: Path, label: str) -> Run:
    files = RunFiles(folder)
    try:
        manifest, content = files.check_finished(), files.read_summary()
    except InputError as error:
        raise InputError(f"{error}\nOr leave the folder out.") from error
    if manifest.kind == "run" and (manifest.benchmark is None or manifest.model is None):
        raise InputError(
            f"{files.manifest}: found a run without `benchmark` or `model`; expected both. Run "
            "it again, or leave the folder out."
        )
    summary = msgspec.convert(content, RunSummary, from_attributes=True)
    verdicts = summary.verdicts
    grounded = verdicts.grounded if verdicts else None
    if verdicts and grounded and not manifest.benchmark:
        share = MetricEntry(grounded.share, grounded.ci, verdicts.ci_level, summary.n, summary.n)
        summary.metrics = {GROUNDED: share} | summary.metrics
    return Run(label, manifest, summary, folder=folder)


# ---- whether two runs asked the same ----


def same_files(one: Run, other: Run) -> bool:
    """Whether an id means the same question in both: one read the other's files, perhaps more."""
    a, b = one.checksums, other.checksums
    return None not in a | b and bool(a & b) and (a <= b or b <= a)


def difference(one: Run, other: Run, skips: str = "") -> str | None:
    """How the questions of two runs differ, in words; None where they are the same.

    A paper's numbers are all over the same. `skips` is the option under which "skip" leaves
    questions out before the limit.
    """
    if one is other or one.source is not None or other.source is not None:
        return None
    a, b = one.manifest, other.manifest
    differences = []
    if not same_files(one, other):
        named = (run.short_checksums() or "none" for run in (one, other))
        differences.append(f"data (sha256) {' and '.join(named)}")
    if a.limit != b.limit:
        differences.append(limits(one, other))
    if a.repeats != b.repeats:
        differences.append(f"answers to each question {a.repeats:,} and {b.repeats:,}")
    if not differences and one.summary.n != other.summary.n:
        differences.append(f"number of answers {one.summary.n:,} and {other.summary.n:,}")
    if not differences and a.limit is not None:
        ways = {str(run.options.get(skips)) for run in (one, other)}
        if "skip" in ways and len(ways) > 1:
            differences.append(
                f"the first {a.limit:,} of all and the first {a.limit:,} with what it needs"
            )
    return "; ".join(differences) or None


def limits(one: Run, other: Run) -> str:
    """The limits of two runs, in words."""
    return f"limit {one.manifest.limit or 'none'} and {other.manifest.limit or 'none'}"


# ---- names ----


def prompt_of(prompts: Iterable[PromptFile]) -> str:
    """The names of a run's own prompt files; `default` where it has none.

    A packaged prompt's id has a slash, that of a user's file has none.
    """
    return ", ".join(prompt.id for prompt in prompts if "/" not in prompt.id) or DEFAULT
