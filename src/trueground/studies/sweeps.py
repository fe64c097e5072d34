"""Several models, several tasks, one command: a run directory for each pair, and where they lie.

An option that a benchmark declares as varied may be given several times. Every combination of the
values is a task of its own, so that one command compares settings, instructions or retrievers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from trueground.benchmarks import Benchmark, Sources, Task
from trueground.errors import InputError, OutputError, RunInterrupted, UnreachableError, UsageError
from trueground.evaluate import RunSettings, TaskRun
from trueground.files import OutputPath
from trueground.models import BatchRequestRunner, ChatModel, Price
from trueground.records import Check
from trueground.runs import Manifest, Result, RunDirectory, RunFiles
from trueground.studies.leaderboard.runs import DEFAULT
from trueground.studies.leaderboard.study import write_leaderboard

if TYPE_CHECKING:
    from trueground.reports import Block, Page


PAGE = "leaderboard.html"  # of a sweep, beside its runs
_PROMPT = "prompt"  # the common option that may be given several times
# What of the manifest stands beside the summary in the JSON output.
_SHOWN = (
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
class Variant:
    """A task with its options settled.

    `folder` tells it from the others, "" where it is alone; `label` says in words which one it is:
    the task, and the options and prompts that differ ("specific, remove=1").
    """

    folder: str
    task: Task
    label: str


@dataclass(frozen=True)
class SweepRun:
    """One run of a sweep.

    `where` is its folder under that of the sweep ("." for a single run), `label` its task with the
    options that tell it from the others.
    """

    task: Task
    model: ChatModel
    where: str
    label: str


def prepare_variants(
    benchmark: Benchmark,
    tasks: Sequence[str],
    options: Mapping[str, str | bool | Sequence[str] | None],
    sources: Sources,
    prompts: Sequence[str] = (),
) -> list[Variant]:
    """Return every task with every combination of the varied options and prompts.

    Equal combinations are returned once: some options have no effect with others, such as a
    retriever if nothing is retrieved.

    Args:
        prompts: Files, and `default` for the benchmark's prompts.

    Raises:
        UsageError: A value is given twice, or `prepare` raises it.
    """
    several = {}
    for option in benchmark.declared:
        name = option.name
        if option.option.varied and name in options:
            several[name] = _values(name, options[name], option.default_text)
    if prompts:
        several[_PROMPT] = _values(_PROMPT, prompts, None)
    names = {}
    for name, values in several.items():
        names[name] = folders(Path(str(v)).stem if name == _PROMPT else str(v) for v in values)
    different: list[Variant] = []
    # For each value of an option, whatever the others, which task stands for it.
    standing: dict[tuple[str, int], list[int]] = {}
    every_place = product(*(range(len(values)) for values in several.values()))
    for task, indices in product(tasks, every_place):
        chosen = list(zip(several, indices, strict=True))
        varied = [(name, index) for name, index in chosen if len(several[name]) > 1]
        task_options = {**options, **{name: several[name][index] for name, index in chosen}}
        source = sources
        if prompts:
            prompt = str(task_options.pop(_PROMPT))  # a file of that name is ./default
            source = replace(sources, prompt=None if prompt == DEFAULT else Path(prompt))
        prepared = benchmark.prepare(task, task_options, source)
        same = prepared.name, prepared.options, prepared.prompts
        earlier = [(v.task.name, v.task.options, v.task.prompts) for v in different]
        at = earlier.index(same) if same in earlier else len(different)
        if at == len(different):
            folder_parts = [OutputPath.safe_name(task)] if len(tasks) > 1 else []
            folder_parts += [names[n][index] for n, index in varied]
            differ = [f"{n}={(names if n == _PROMPT else several)[n][p]}" for n, p in varied]
            different.append(Variant("-".join(folder_parts), prepared, ", ".join([task, *differ])))
        for value in chosen:
            standing.setdefault(value, []).append(at)
    _note_without_effect(several, standing, different, sources)
    return different


def _values(
    name: str, value: str | bool | Sequence[str] | None, default: str | bool | None
) -> list[str | bool | None]:
    single = value is None or isinstance(value, str | bool)
    values: list[str | bool | None] = [value] if single else [*value]  # type: ignore[list-item, misc]
    repeated = [v for v in values if values.count(v) > 1]
    if repeated:
        raise UsageError(f"--{name} {repeated[0]} is given twice; give each value once")
    return values or [default]


def _note_without_effect(
    several: Mapping[str, Sequence[str | bool | None]],
    standing: Mapping[tuple[str, int], Sequence[int]],
    different: Sequence[Variant],
    sources: Sources,
) -> None:
    """Note values that are the same in all that is asked, and options without any effect."""
    for name, values in several.items():
        alike: dict[tuple[int, ...], list[str]] = {}
        for index, value in enumerate(values):
            alike.setdefault(tuple(standing[name, index]), []).append(str(value))
        for equal in alike.values():
            if len(equal) > 1:
                sources.note(
                    f"--{name}: {' and '.join(equal)} give the same requests; they share one run"
                )
    idle = list(different[0].task.unused) if different else []
    for variant in different:
        idle = [name for name in idle if name in variant.task.unused]
    if idle:
        options = ", ".join(f"--{name}" for name in idle)
        sources.note(f"without effect on what is asked here: {options}")


def folders(names: Iterable[str]) -> list[str]:
    """A folder name for each name, different ones for different names."""
    taken: list[str] = []
    for name in names:
        folder, number = OutputPath.safe_name(name), 2
        while folder in taken:
            folder, number = f"{OutputPath.safe_name(name)}-{number}", number + 1
        taken.append(folder)
    return taken


def _is_same_model(answered: str, requested: str) -> bool:
    """Return whether the names match; endpoints add a date or a folder to a name."""
    answered, requested = answered.casefold(), requested.casefold()
    if answered in requested or answered.rpartition("/")[2] in requested:
        return True
    return requested.rpartition("/")[2] in answered


@dataclass(frozen=True)
class SweepOutcome:
    """A finished run of a sweep, or the error that stopped it."""

    run: SweepRun
    path: Path
    result: Result | None
    error: UnreachableError | None = None

    @cached_property
    def summary(self) -> dict[str, Any]:
        """summary.json of a run that ended."""
        return self.result.summary.raw if self.result else {}

    @cached_property
    def manifest(self) -> Manifest | None:
        """manifest.json as it is now."""
        return RunFiles(self.path).find_manifest()

    @property
    def raw_manifest(self) -> dict[str, Any]:
        """The content of manifest.json; empty if there is none."""
        return {} if self.manifest is None else self.manifest.raw

    def as_json(self) -> dict[str, Any]:
        """The summary, how the calls went, and where it lies."""
        fields = {key: getattr(self.manifest, key, None) for key in _SHOWN}
        calls = msgspec.to_builtins(fields)
        error = {"error": str(self.error)} if self.error else {}
        return {**self.summary, **calls, **error, "out": str(self.path)}

    def notes(self) -> Iterator[str]:
        """Yield warnings about the run."""
        if self.error:
            yield f"{self.path}: {self.error}"
        if self.manifest is None:
            return
        if self.manifest.cache_problem:
            yield f"{self.path}: {self.manifest.cache_problem}"
        outcomes = self.manifest.outcomes
        failed, long = outcomes.get("error", 0), outcomes.get("too_long", 0)
        if self.result and (failed or long) and self.manifest.errors:
            reason, count = next(iter(self.manifest.errors.items()))
            again = ". --retry-failed asks again what failed" if failed else ""
            failures = []
            if failed:
                failures.append(f"{failed} calls failed")
            if long:
                failures.append(f"{long} prompts were too long")
            yield f"{self.path}: {' and '.join(failures)}; {count} times: {reason}{again}"
        requested = self.run.model.name
        others = [name for name in self.manifest.answered_by if not _is_same_model(name, requested)]
        if others:
            yield f"{self.path}: {requested} was asked, {', '.join(others[:3])} answered"


@dataclass(frozen=True)
class SweepResult:
    """What the runs of a sweep came to.

    Attributes:
        outcomes: One per run.
        prompts: What several prompts come to, for each model and task that was asked with several.
        leaderboard: The page that sets the runs side by side; None if fewer than two have ended.
    """

    outcomes: Sequence[SweepOutcome]
    prompts: Sequence[Mapping[str, Any]]
    leaderboard: Path | None

    def as_json(self) -> Any:
        """The outcome of a single run, else a list of them; with studies of prompts if any."""
        results = [outcome.as_json() for outcome in self.outcomes]
        if self.prompts:
            return {"runs": results, "prompts": self.prompts}
        return results[0] if len(results) == 1 else results

    def page(self) -> Page | None:
        """The page of a single run, else a row for each; None if no run has ended."""
        from trueground.reports import RunReport
        from trueground.studies.sweep_pages import sweep_page

        finished = [outcome for outcome in self.outcomes if outcome.result is not None]
        if not finished:
            return None
        if len(self.outcomes) == 1:
            run = finished[0]
            report = RunReport(run.summary, run.raw_manifest, run.path)
            return report.terminal_page(shows_all=True)
        rows = [(run.run.label, run.summary, run.raw_manifest, run.path) for run in finished]
        return sweep_page(rows, self.prompts)


@dataclass(frozen=True)
class SweepEstimate:
    """What the runs of a sweep would cost: model, task and estimate of each."""

    rows: Sequence[tuple[str, str, Mapping[str, Any]]]

    def as_json(self) -> list[dict[str, Any]]:
        """An entry for each run."""
        return [{"model": model, "task": task, **costs} for model, task, costs in self.rows]

    def blocks(self) -> list[Block]:
        """A row for each run, and the sum."""
        from trueground.studies.sweep_pages import show_estimates

        return show_estimates(self.rows)


@dataclass(frozen=True)
class SweepRuns:
    """The runs of one command: every model with every variant of every task."""

    runs: Sequence[SweepRun]

    @classmethod
    def prepare(
        cls,
        benchmark: Benchmark,
        tasks: Sequence[str],
        models: Sequence[ChatModel],
        options: Mapping[str, str | bool | Sequence[str] | None],
        sources: Sources,
        prompts: Sequence[str] = (),
    ) -> SweepRuns:
        """Return the runs of these models; the other arguments are those of `prepare_variants`.

        Raises UsageError for two models of one name, and what `prepare_variants` raises.
        """
        return cls.of(prepare_variants(benchmark, tasks, options, sources, prompts), models)

    @classmethod
    def of(cls, variants: Sequence[Variant], models: Sequence[ChatModel]) -> SweepRuns:
        """Every model with every task. Raises UsageError for two models of one name."""
        names = [model.name for model in models]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise UsageError(f"the model {min(twice)!r} is named twice; name each model once")
        runs = []
        for (model, folder), variant in product(zip(models, folders(names), strict=True), variants):
            parts = [folder, variant.folder] if len(models) > 1 else [variant.folder]
            where = "/".join(filter(None, parts)) or "."
            runs.append(SweepRun(variant.task, model, where, variant.label))
        return cls(runs)

    def find_folder(self, name: str, settings: RunSettings) -> Path:
        """Return the folder of a sweep if the user names none.

        The newest unfinished one of the same runs is resumed, a finished one to retry what failed.
        """
        fresh = RunDirectory.free_path(name)
        pattern = f"*Z-{OutputPath.safe_name(name)}*"
        candidates = [path for path in fresh.parent.glob(pattern) if path.is_dir()]
        for path in sorted(candidates, reverse=True):
            try:
                begun, finished = self._count_begun(path, settings)
            except (InputError, OutputError):
                continue  # it holds something else, or what can no longer be read
            if begun and (finished < len(self.runs) or settings.retry_failed):
                return path
        return fresh

    def estimate(self, out: Path, settings: RunSettings) -> SweepEstimate:
        """Return what the runs would cost; nothing is called."""
        rows = []
        for run in self.runs:
            costs = TaskRun(run.task, run.model, settings).estimate(out / run.where)
            rows.append((run.model.name, f"{run.task.benchmark}/{run.label}", costs))
        return SweepEstimate(rows)

    def run(self, out: Path, settings: RunSettings) -> SweepResult:
        """Make every run in turn, and the page that sets them side by side.

        A model that cannot be reached does not stop the others. What can be refused is refused
        before the first call. Raises what `TaskRun.run` raises otherwise.
        """
        from trueground.studies.prompts import prompt_studies

        outcomes = self._run_each(out, settings)
        ended = [outcome.path for outcome in outcomes if outcome.result is not None]
        prompts = prompt_studies(ended)
        return SweepResult(outcomes, prompts, write_side_by_side(ended, out, prompts))

    def _run_each(self, out: Path, settings: RunSettings) -> list[SweepOutcome]:
        for run in self.runs:
            if settings.prices is not None:
                Price.of(settings.prices, run.model.name)
            if settings.batch:
                BatchRequestRunner.check_model(run.model)
        for run in self.runs:
            RunDirectory.check_resumable(out / run.where)
        self._count_begun(out, settings)
        checks: dict[int, Check] = {}  # one for each task, whatever the number of models
        for run in self.runs:
            if id(run.task) not in checks:
                checks[id(run.task)] = TaskRun(run.task, run.model, settings).check()
        outcomes: list[SweepOutcome] = []
        for run in self.runs:
            path = out / run.where
            try:
                result = TaskRun(run.task, run.model, settings).run(path, checks[id(run.task)])
                outcome = SweepOutcome(run, path, result)
            except UnreachableError as error:
                outcome = SweepOutcome(run, path, None, error)
            except RunInterrupted as error:
                rest = len(self.runs) - len(outcomes) - 1
                if not rest:
                    raise
                raise RunInterrupted(f"{error} ({rest} more runs had not begun)") from None
            outcomes.append(outcome)
        return outcomes

    def _count_begun(self, out: Path, settings: RunSettings) -> tuple[int, int]:
        """How many of the runs have begun in the folder, and how many have ended.

        Raises OutputError, InputError where a folder holds what these runs would not go on with.
        """
        begun = finished = 0
        for run in self.runs:
            manifest = TaskRun(run.task, run.model, settings).find_earlier(out / run.where)
            if manifest is not None:
                begun += 1
                finished += manifest.get("status") == "finished"
        return begun, finished


def write_side_by_side(
    ended: Sequence[Path], out: Path, prompts: Sequence[Mapping[str, Any]] = ()
) -> Path | None:
    """Write the page of runs that have ended; None if they are fewer than two.

    `prompts` are what `prompt_studies` returned. Raises OutputError, WriteError.
    """
    return write_leaderboard(ended, out / PAGE, prompts=prompts) if len(ended) > 1 else None
