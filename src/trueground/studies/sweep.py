"""Several models, several tasks, one command: a run directory for each pair, and where they lie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from trueground.benchmarks.base import Task
from trueground.errors import (
    InputError,
    OutputError,
    RunInterrupted,
    UnreachableError,
    UsageError,
)
from trueground.evaluate.batches import check_batches
from trueground.evaluate.questions import RunSettings, check_questions
from trueground.evaluate.result import Result
from trueground.evaluate.run import run_task
from trueground.evaluate.session import check_same, identify_run
from trueground.models.base import ChatModel
from trueground.models.pricing import price_of
from trueground.records import Check
from trueground.reports.leaderboard.page import write_leaderboard
from trueground.runs.directory import check_resumable, free_path, read_manifest, safe_name
from trueground.studies.variants import Variant, folders


@dataclass(frozen=True)
class Pair:
    """One run of a sweep.

    `where` is its folder under that of the sweep ("." for a single run), `label` its task with the
    options that tell it from the others.
    """

    task: Task
    model: ChatModel
    where: str
    label: str


PAGE = "leaderboard.html"  # of a sweep, beside its runs
# What of the manifest stands beside the summary in the JSON output.
_TOLD = (
    "benchmark",
    "model",
    "status",
    "outcomes",
    "errors",
    "answered_by",
    "calls",
    "cache_hits",
    "tokens",
    "cost",
)


@dataclass(frozen=True)
class Finished:
    """A run of a sweep that came to its end, or the reason why it did not."""

    pair: Pair
    path: Path
    result: Result | None
    error: UnreachableError | None = None

    @cached_property
    def summary(self) -> dict[str, Any]:
        """summary.json of a run that ended."""
        return dict(self.result.summary.raw) if self.result else {}

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """manifest.json as it is now."""
        return read_manifest(self.path) or {}

    def as_json(self) -> dict[str, Any]:
        """The summary, how the calls went, and where it lies."""
        found = {key: self.manifest.get(key) for key in _TOLD}
        error = {"error": str(self.error)} if self.error else {}
        return {**self.summary, **found, **error, "out": str(self.path)}

    def notes(self) -> Iterator[str]:
        """What the user should know beside the numbers."""
        if self.error:
            yield f"{self.path}: {self.error}"
        if self.manifest.get("cache_problem"):
            yield f"{self.path}: {self.manifest['cache_problem']}"
        outcomes = self.manifest.get("outcomes", {})
        failed, long = outcomes.get("error", 0), outcomes.get("too_long", 0)
        if self.result and (failed or long) and self.manifest["errors"]:
            reason, count = next(iter(self.manifest["errors"].items()))
            again = ". --retry-failed asks again what failed" if failed else ""
            what = f"{failed} calls failed" * bool(failed) + " and " * bool(failed and long)
            what += f"{long} prompts were too long" * bool(long)
            yield f"{self.path}: {what}; {count} times: {reason}{again}"
        wanted = self.pair.model.name
        others = [name for name in self.manifest.get("answered_by", {}) if not _same(name, wanted)]
        if others:
            yield f"{self.path}: {wanted} was asked, {', '.join(others[:3])} answered"


def _same(answered: str, wanted: str) -> bool:
    """Whether an endpoint's name for a model can mean the one that was asked for.

    Endpoints add a date or a folder ("gpt-4o-2024-08-06", "/models/llama.gguf").
    """
    a, b = answered.casefold(), wanted.casefold()
    return a in b or b in a or a.rpartition("/")[2] in b or b.rpartition("/")[2] in a


def pairs_of(variants: Sequence[Variant], models: Sequence[ChatModel]) -> list[Pair]:
    """Every model with every task. Raises UsageError for two models of one name."""
    names = [model.name for model in models]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise UsageError(f"the model {min(twice)!r} is named twice; name each model once")
    found = []
    for (model, folder), variant in product(zip(models, folders(names), strict=True), variants):
        parts = [folder] * (len(models) > 1) + [variant.folder]
        where = "/".join(filter(None, parts)) or "."
        found.append(Pair(variant.task, model, where, variant.label))
    return found


def place(name: str, pairs: Sequence[Pair], settings: RunSettings) -> tuple[Path, bool]:
    """Where a sweep without a folder of its own goes, and whether it began there before.

    The newest unfinished sweep of the same runs under runs/ is gone on with; where only what failed
    is to be asked again, also a finished one. Else it is a new one.
    """
    fresh = free_path(name)
    known = [path for path in fresh.parent.glob(f"*Z-{safe_name(name)}*") if path.is_dir()]
    for path in sorted(known, reverse=True):
        try:
            begun, finished = _ours(path, pairs, settings)
        except (InputError, OutputError):
            continue  # it holds something else, or what can no longer be read
        if begun and (finished < len(pairs) or settings.retry_failed):
            return path, True
    return fresh, False


def check_folders(out: Path, pairs: Sequence[Pair], settings: RunSettings) -> None:
    """Raises OutputError, InputError where a folder holds what these runs would not go on with."""
    for pair in pairs:
        check_resumable(out / pair.where)
    _ours(out, pairs, settings)


def _ours(out: Path, pairs: Sequence[Pair], settings: RunSettings) -> tuple[int, int]:
    """How many of the runs have begun in the folder, and how many have ended."""
    begun = finished = 0
    for pair in pairs:
        identity = identify_run(pair.task, settings, pair.model.signature)
        manifest = check_same(out / pair.where, identity)
        if manifest is None:
            continue
        begun += 1
        finished += manifest.get("status") == "finished"
    return begun, finished


def sweep(pairs: Sequence[Pair], out: Path, settings: RunSettings) -> list[Finished]:
    """Run every pair in turn; a model that cannot be reached does not stop the others.

    What can be refused is refused before the first call. Raises what `run_task` raises, but for
    UnreachableError, which is kept in the outcome.
    """
    checks = _check_all(pairs, out, settings)
    outcomes: list[Finished] = []
    for pair in pairs:
        path = out / pair.where
        try:
            result = run_task(pair.task, pair.model, path, settings, checks[id(pair.task)])
            outcome = Finished(pair, path, result)
        except UnreachableError as error:
            outcome = Finished(pair, path, None, error)
        except RunInterrupted as error:
            rest = len(pairs) - len(outcomes) - 1
            if not rest:
                raise
            raise RunInterrupted(f"{error} ({rest} more runs had not begun)") from None
        outcomes.append(outcome)
    return outcomes


def studies_of(outcomes: Sequence[Finished]) -> list[dict[str, Any]]:
    """What several prompts come to, for each model and task that was asked with several."""
    from trueground.studies.prompts import prompt_studies

    return prompt_studies([outcome.path for outcome in outcomes if outcome.result is not None])


def draw(
    outcomes: Sequence[Finished], out: Path, prompts: Sequence[Mapping[str, Any]] = ()
) -> Path | None:
    """The page that sets the runs of a sweep side by side; None where fewer than two have ended.

    `prompts` are what `studies_of` found.
    Raises OutputError where its place is taken by something else, WriteError.
    """
    ended = [outcome.path for outcome in outcomes if outcome.result is not None]
    return write_leaderboard(ended, out / PAGE, prompts=prompts) if len(ended) > 1 else None


def _check_all(pairs: Sequence[Pair], out: Path, settings: RunSettings) -> dict[int, Check]:
    """Read the questions of every task, and see that every run can go where it belongs."""
    for pair in pairs:
        if settings.prices is not None:
            price_of(pair.model.name, settings.prices)
        if settings.batch:
            check_batches(pair.model)
    check_folders(out, pairs, settings)
    tasks = {id(pair.task): pair.task for pair in pairs}
    return {number: check_questions(task, settings) for number, task in tasks.items()}
