"""Run directories → checked values: which folders hold runs, and what each of them says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from trueground.errors import InputError
from trueground.runs.directory import MANIFEST, SUMMARY

DATASET = "meta.dataset"  # the field by which benchmarks of several sources are split
REPEAT = "meta.repeat"  # the field that tells the answers to one question apart

_T = TypeVar("_T")


class InputFile(msgspec.Struct):
    """One file that a run read."""

    path: str = ""
    sha256: str | None = None


class PromptEntry(msgspec.Struct):
    """A prompt file of a run."""

    id: str = ""
    sha256: str = ""


class BenchmarkPart(msgspec.Struct):
    """Which task a run asked, and by which metric models are ranked in it."""

    name: str
    task: str
    headline: str
    options: dict[str, Any] = {}
    notices: list[str] = []


class ModelPart(msgspec.Struct):
    """Who answered; `signature` tells two models of one name apart."""

    name: str
    signature: str = ""


class JudgePart(msgspec.Struct):
    """Which judge gave the verdicts."""

    name: str
    signature: str = ""


class TokenUsage(msgspec.Struct):
    """Tokens of all calls of a run."""

    input: int = msgspec.field(name="in", default=0)
    output: int = msgspec.field(name="out", default=0)
    cached: int = 0


class Cost(msgspec.Struct):
    """What a run cost, in US dollars."""

    usd: float | None = None


class Manifest(msgspec.Struct):
    """The parts of manifest.json that a leaderboard uses."""

    trueground: str
    kind: str = "score"
    status: str = "finished"
    benchmark: BenchmarkPart | None = None
    model: ModelPart | None = None
    params: dict[str, Any] = {}
    outcomes: dict[str, int] = {}
    cost: Cost | None = None
    tokens: TokenUsage | None = None
    input: list[InputFile] = []
    prompts: list[PromptEntry] = []
    metrics: dict[str, str] = {}
    judge: JudgePart | None = None
    rater: JudgePart | None = None
    limit: int | None = None
    repeats: int = 1
    seed: int | None = None


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


class RunSummary(msgspec.Struct):
    """The parts of summary.json that a leaderboard uses."""

    metrics: dict[str, MetricEntry]
    n: int = 0
    averages: dict[str, dict[str, MetricEntry]] = {}
    by: dict[str, dict[str, dict[str, MetricEntry]]] = {}


@dataclass(frozen=True)
class Run:
    """One run. `source` and `place` name the publication where the numbers are a paper's."""

    label: str
    manifest: Manifest
    summary: RunSummary
    source: str | None = None
    place: str | None = None

    def entry(self, metric: str) -> MetricEntry | None:
        """The metric over all items."""
        return self.summary.metrics.get(metric)

    def average(self, metric: str) -> MetricEntry | None:
        """The metric averaged over a benchmark's datasets, where it has several sources."""
        if self.manifest.benchmark is None:
            return None
        return self.summary.averages.get(DATASET, {}).get(metric)

    def spread(self, metric: str) -> tuple[float | None, int | None]:
        """Standard deviation of the means of repeated answers, and how many means."""
        if self.source is not None:
            entry = self.entry(metric)
            return (entry.sd if entry else None), None
        entry = self.summary.averages.get(REPEAT, {}).get(metric)
        return (entry.sd, entry.values) if entry and entry.sd is not None else (None, None)

    def datasets(self) -> dict[str, dict[str, MetricEntry]]:
        """Dataset → metrics, empty where the run has no such split."""
        return self.summary.by.get(DATASET, {}) if self.manifest.benchmark else {}


def read_runs(paths: Sequence[Path]) -> list[Run]:
    """Read every run that the paths name or hold, ordered by label.

    Raises InputError that names each folder without a finished run, and the next step.
    """
    folders, problems = find_runs(paths)
    found: list[Run] = []
    for label, folder in _labelled(folders):
        try:
            found.append(_read(folder, label))
        except InputError as error:
            problems.append(str(error))
    if problems:
        raise InputError("\n".join(problems))
    return sorted(found, key=lambda run: run.label)


def find_runs(paths: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """The run directories that the paths are, or hold at most two levels deep; and problems."""
    found: dict[Path, Path] = {}
    problems = []
    for path in paths:
        folders = [path] if is_run(path) else _runs_below(path)
        if not folders:
            what = "holds no run" if path.is_dir() else "is no folder"
            problems.append(
                f"{path} {what}: no {MANIFEST} in it or two levels below. Name a folder that "
                "`trueground score` or `trueground run` has written."
            )
        for folder in folders:
            found.setdefault(folder.resolve(), folder)
    return list(found.values()), problems


def is_run(path: Path) -> bool:
    """Whether the folder itself says that it is a run, finished or not."""
    return (path / MANIFEST).is_file()


def _runs_below(path: Path) -> list[Path]:
    first = sorted(p for p in path.glob("*/") if is_run(p))
    second = sorted(p for p in path.glob("*/*/") if is_run(p) and p.parent not in first)
    return first + second


def _labelled(folders: Sequence[Path]) -> list[tuple[str, Path]]:
    """Each folder with as many last parts of its path as tell it from the others.

    Two at least where the last one has no letter, as in a sweep over the values of an option: a
    run that is called "0.1" says nothing.
    """
    parts = {folder: folder.resolve().parts for folder in folders}
    labels = []
    for folder, own in parts.items():
        others = [p for p in parts.values() if p is not own]
        depth = 1 if any(map(str.isalpha, folder.resolve().name)) else 2
        while depth < len(own) and any(p[-depth:] == own[-depth:] for p in others):
            depth += 1
        labels.append(("/".join(own[-depth:]), folder))
    return labels


def _read(folder: Path, label: str) -> Run:
    manifest = _decode(folder / MANIFEST, Manifest)
    if manifest.status != "finished":
        raise InputError(
            f"{folder} is not finished (its status is {manifest.status!r}). Run its command again "
            "(`score` with --overwrite) to finish it, or leave the folder out."
        )
    if manifest.kind == "run" and (manifest.benchmark is None or manifest.model is None):
        raise InputError(
            f"{folder / MANIFEST}: found a run without `benchmark` or `model`; expected both. Run "
            "it again, or leave the folder out."
        )
    return Run(label, manifest, _decode(folder / SUMMARY, RunSummary))


def _decode(path: Path, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError as error:
        raise InputError(
            f"{path}: not found, so {path.parent} is not finished. Run its command again "
            "(`score` with --overwrite), or leave the folder out."
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: no {kind.__name__.lower()} of a trueground run ({error}). Run its command "
            "again, or leave the folder out."
        ) from error
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror or error}). Fix its permissions."
        ) from error
