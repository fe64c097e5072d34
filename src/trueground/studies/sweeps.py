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
    """Every task with every combination of the varied options and prompts, each different one once.

    `prompts` are files, and `default` for the benchmark's own. An option may have no say beside
    another one (a retriever where nothing is retrieved): then the first of the equal tasks stands
    for all. UsageError: one value twice, and whatever `prepare` raises.
    """
    several = {
        option.name: _values(option.name, options[option.name], option.default_text)
        for option in benchmark.declared
        if option.option.varied and option.name in options
    }
    if prompts:
        several[_PROMPT] = _values(_PROMPT, prompts, None)
    names = {
        name: folders(Path(str(v)).stem if name == _PROMPT else str(v) for v in values)
        for name, values in several.items()
    }
    different: list[Variant] = []
    # For each value of an option, whatever the others, which task stands for it.
    standing: dict[tuple[str, int], list[int]] = {}
    every_place = product(*(range(len(values)) for values in several.values()))
    for task, places in product(tasks, every_place):
        chosen = list(zip(several, places, strict=True))
        varied = [(name, place) for name, place in chosen if len(several[name]) > 1]
        own = {**options, **{name: several[name][place] for name, place in chosen}}
        source = sources
        if prompts:
            prompt = str(own.pop(_PROMPT))  # a file of that name is ./default
            source = replace(sources, prompt=None if prompt == DEFAULT else Path(prompt))
        prepared = benchmark.prepare(task, own, source)
        same = prepared.name, prepared.options, prepared.prompts
        known = ((one.task.name, one.task.options, one.task.prompts) for one in different)
        at = next((i for i, one in enumerate(known) if one == same), len(different))
        if at == len(different):
            words = [OutputPath.safe_name(task)] * (len(tasks) > 1) + [
                names[n][place] for n, place in varied
            ]
            differ = [f"{n}={(names if n == _PROMPT else several)[n][p]}" for n, p in varied]
            different.append(Variant("-".join(words), prepared, ", ".join([task, *differ])))
        for value in chosen:
            standing.setdefault(value, []).append(at)
    _note_without_effect(several, standing, different, sources)
    return different


def _values(
    name: str, value: str | bool | Sequence[str] | None, default: str | bool | None
) -> list[str | bool | None]:
    single = value is None or isinstance(value, str | bool)
    values: list[str | bool | None] = [value] if single else [*value]  # type: ignore[list-item, misc]
    if twice := [v for v in values if values.count(v) > 1]:
        raise UsageError(f"--{name} {twice[0]} is given twice; give each value once")
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
        for place, value in enumerate(values):
            alike.setdefault(tuple(standing[name, place]), []).append(str(value))
        for equal in alike.values():
            if len(equal) > 1:
                sources.note(
                    f"--{name}: {' and '.join(equal)} ask the same here; one run stands for them"
                )
    first = different[0].task.unused if different else ()
    if idle := [n for n in first if all(n in one.task.unused for one in different)]:
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


@dataclass(frozen=True)
class SweepOutcome:
    """A run of a sweep that came to its end, or the reason why it did not."""

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
        """What the user should know beside the numbers."""
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
            what = [f"{failed} calls failed"] * bool(failed)
            what += [f"{long} prompts were too long"] * bool(long)
            yield f"{self.path}: {' and '.join(what)}; {count} times: {reason}{again}"
        wanted = self.run.model.name
        # Endpoints add a date or a folder ("gpt-4o-2024-08-06", "/models/llama.gguf").
        own, last = wanted.casefold(), wanted.casefold().rpartition("/")[2]
        others = [
            name
            for name in self.manifest.answered_by
            for a in (name.casefold(),)
            if not (a in own or last in a or a.rpartition("/")[2] in own)
        ]
        if others:
            yield f"{self.path}: {wanted} was asked, {', '.join(others[:3])} answered"


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
            parts = [folder] * (len(models) > 1) + [variant.folder]
            where = "/".join(filter(None, parts)) or "."
            runs.append(SweepRun(variant.task, model, where, variant.label))
        return cls(runs)

    def find_folder(self, name: str, settings: RunSettings) -> Path:
        """Return the folder of a sweep if the user names none.

        The newest unfinished one of the same runs is resumed, a finished one to retry what failed.
        """
        fresh = RunDirectory.free_path(name)
        pattern = f"*Z-{OutputPath.safe_name(name)}*"
        known = [path for path in fresh.parent.glob(pattern) if path.is_dir()]
        for path in sorted(known, reverse=True):
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
