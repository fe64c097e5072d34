"""Papers' numbers as runs, in the same columns as the user's; what makes them another scale."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from trueground.benchmarks.published import PublishedScore, PublishedTable, published
from trueground.benchmarks.registry import all_benchmarks
from trueground.benchmarks.studies import PaperJudge
from trueground.errors import UsageError
from trueground.metrics.base import make_spec
from trueground.metrics.registry import parse_spec
from trueground.plugins import bare_name, split_key
from trueground.reports.leaderboard.board import Board, BoardColumn, studies_of
from trueground.reports.leaderboard.runs import (
    DATASET,
    BenchmarkPart,
    Manifest,
    MetricEntry,
    Named,
    Run,
    RunSummary,
    few,
)


def paper_runs(columns: Sequence[BoardColumn]) -> list[Run]:
    """The published models of every column with which the paper's numbers can be compared.

    What is comparable each benchmark says (`Studies.comparable`). Raises UsageError where there is
    nothing.
    """
    found = [run for column in columns for run in _column_runs(column)]
    if not found:
        titles = ", ".join(column.title for column in columns) or "none"
        printed = [b.studies().printed for b in all_benchmarks().values()]
        raise UsageError(
            "--with-published: no published number belongs to these runs. "
            f"{', '.join(filter(None, printed))}; the runs here are: {titles}. Leave the option "
            "out."
        )
    return found


def paper_ranks(columns: Sequence[BoardColumn]) -> list[dict[str, Any]]:
    """The printed ranks of every task that stands on the board beside its original."""
    tasks = {(c.benchmark, c.task) for c in columns}
    asked = {(c.benchmark, c.options.get(studies_of(c.benchmark).original)) for c in columns}
    found = []
    for benchmark, task in dict.fromkeys((c.benchmark, c.task) for c in columns):
        for table in _tables(benchmark) if (benchmark, task) in tasks & asked else ():
            ranks = sorted((r for r in table.ranks if r.task == task), key=lambda r: r.original)
            rows = [
                {"name": r.model, "original": r.original, "new": r.new, "difference": r.difference}
                for r in ranks
            ]
            if rows:
                where = {"source": table.source, "place": table.place, "task": task}
                found.append({**where, "rows": rows})
    return found


def _tables(benchmark: str | None) -> Sequence[PublishedTable]:
    return published(benchmark) if benchmark else ()


def _column_runs(column: BoardColumn) -> list[Run]:
    """One run for each model: of the first table that has it, with other metrics of later ones."""
    studies, wanted = studies_of(column.benchmark), _key(column, column.metric)
    found: dict[str, Run] = {}
    tables = []
    for table in _tables(column.benchmark):
        by_model: dict[str, list[PublishedScore]] = defaultdict(list)
        for score in table.scores:
            if score.task == column.task and studies.comparable(
                score.task, column.options, score.options
            ):
                by_model[score.model].append(score)
        tables.append((table.place, by_model))
        for model, scores in by_model.items():
            if studies.any_metric or any(_key(column, s.metric) == wanted for s in scores):
                found.setdefault(model, _run(column, table, model, scores))
    for place, by_model in tables:
        for model, run in found.items():
            others = {
                score.metric: MetricEntry(mean=score.value, sd=score.sd)
                for score in by_model.get(model, ())
                if (score.dataset, score.by) == (None, {})
                and score.metric not in run.summary.metrics
            }
            if others and place not in (run.place or ""):
                run.summary.metrics.update(others)
                found[model] = replace(run, place=f"{run.place}; {place}")
    return list(found.values())


def _run(
    column: BoardColumn, table: PublishedTable, model: str, scores: Sequence[PublishedScore]
) -> Run:
    """A paper's numbers of one model, of all items, of datasets, or of other parts."""
    summary = RunSummary(metrics={})
    datasets: dict[str, dict[str, MetricEntry]] = {}
    for score in scores:
        where = summary.metrics
        if score.dataset is not None:
            where = datasets.setdefault(score.dataset, {})
        elif score.by:
            ((field, value),) = score.by.items()
            where = summary.by.setdefault(field, {}).setdefault(value, {})
        where[score.metric] = MetricEntry(mean=score.value, sd=score.sd)
        if _key(column, score.metric) == _key(column, column.metric):
            where[column.metric] = where[score.metric]
    if datasets:
        summary.by[DATASET] = datasets
        summary.averages[DATASET] = {
            name: MetricEntry(
                mean=entry.mean, values=sum(name in split for split in datasets.values())
            )
            for name, entry in summary.metrics.items()
        }
    part = BenchmarkPart(
        column.benchmark or "", column.task or "", column.metric, dict(column.options)
    )
    manifest = Manifest(trueground="", kind="run", benchmark=part, model=Named(model))
    return Run(f"published {model}", manifest, summary, source=table.source, place=table.place)


def _key(column: BoardColumn, metric: str) -> str:
    """The canonical spelling of a metric, without the judge and without options to be ignored."""
    metric = split_key(metric).spec
    try:
        spec = parse_spec(metric)
    except UsageError:
        return metric
    ignored = studies_of(column.benchmark).ignored
    kept = {name: value for name, value in spec.options.items() if name not in ignored}
    return make_spec(spec.metric, kept).key


def beside_published(board: Board) -> list[str]:
    """Why published numbers cannot simply be set beside the runs in the same column.

    Runs over a part of the task; verdicts or ratings of other models; code that is not the paper's.
    """
    judged: dict[PaperJudge, tuple[list[str], dict[str, list[str]]]] = {}
    coded: dict[str, list[str]] = defaultdict(list)
    titles, cut = [], []
    for column in board.columns:
        ours = [run for run in board.runs(column) if run.source is None]
        papers = [run for run in board.runs(column) if run.source is not None]
        if not ours or not papers:
            continue
        if own := [run.label for run in ours if run.manifest.limit is not None]:
            titles.append(column.title)
            cut += own
        studies = studies_of(column.benchmark)
        for judge in studies.judges:
            strange = [run for run in ours if _has(judge, run) and not _by(judge, run)]
            if strange and any(_has(judge, run) for run in papers):
                named, others = judged.setdefault(judge, ([], defaultdict(list)))
                named.append(column.title)
                for run in strange:
                    part = getattr(run.manifest, judge.part)
                    who = part.name if part else f"no {judge.part} that the manifest names"
                    others[who].append(run.label)
        code = studies.code
        if code and column.metric.startswith(code.metric) and code.lacking not in column.metric:
            coded[code.words].append(column.title)
    found = []
    if cut:
        found.append(f"{few(titles)}: {few(cut)} ran with a limit; the published numbers are over "
                     "the whole task.")  # fmt: skip
    for judge, (named, others) in judged.items():
        told_by = "; ".join(f"{few(labels)} by {name}" for name, labels in sorted(others.items()))
        found.append(f"{few(named)}: the published {judge.words} by {judge.model}, the runs "
                     f"otherwise: {told_by}. Two {judge.part}s are two scales.")  # fmt: skip
    return found + [f"{few(named)}: {words}" for words, named in coded.items()]


def _has(judge: PaperJudge, run: Run) -> bool:
    return any(
        bare_name(key).removesuffix("_micro") in judge.metrics for key in run.summary.metrics
    )


def _by(judge: PaperJudge, run: Run) -> bool:
    part = getattr(run.manifest, judge.part)
    return judge.model in (part.signature if part else "")
