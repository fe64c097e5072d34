"""A paper's scores as runs, so that they stand in the same columns as the user's; and its ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trueground.benchmarks.published import PublishedScore, PublishedTable, published
from trueground.errors import UsageError
from trueground.metrics.base import make_spec
from trueground.metrics.registry import parse_spec
from trueground.plugins import split_key
from trueground.reports.leaderboard.board import Board, BoardColumn
from trueground.reports.leaderboard.runs import (
    DATASET,
    BenchmarkPart,
    Manifest,
    MetricEntry,
    ModelPart,
    Run,
    RunSummary,
)
from trueground.reports.leaderboard.standard import asked_as_published

# Their settings have no headline in common, and their sections compare other metrics as well.
_ANY_METRIC = {"instruct-qa", "kalma"}


@dataclass(frozen=True)
class PaperRank:
    """A printed row of ranks: original, new, and the printed difference."""

    name: str
    original: int
    new: int
    difference: int


@dataclass(frozen=True)
class PaperRanks:
    """One printed table of ranks; `place` says where it stands."""

    source: str
    place: str
    task: str
    rows: list[PaperRank]


def paper_runs(board: Board) -> list[Run]:
    """The published models of every column with which the paper's numbers can be compared.

    Comparable is the same task with the same options and the same metric, of Truly-Ground however
    refusals count and texts are cut for the judge; of instruct-qa and KaLMA, any metric. Raises
    UsageError where there is none.
    """
    found = [run for column in board.columns for run in _column_runs(column)]
    if not found:
        titles = ", ".join(column.title for column in board.columns) or "none"
        raise UsageError(
            "--with-published: no published number belongs to these runs. FaithEval's are direct "
            "answers to whole tasks by strict matching (trueground run faitheval), Truly-Ground's "
            "its four versions at 2,048 tokens (trueground run truly-ground), instruct-qa's its "
            "three datasets with gold, irrelevant or 8, 8 and 4 retrieved passages (trueground run "
            "instruct-qa/nq), KaLMA's its own questions with the graphs that came with them, or "
            "with gold graphs, some of them removed or replaced (trueground run kalma); the runs "
            f"here are: {titles}. Leave the option out."
        )
    return found


def paper_ranks(board: Board) -> list[PaperRanks]:
    """The printed ranks of every task that stands on the board beside its original."""
    pairs = {(c.benchmark, c.options.get("of")) for c in board.columns if c.task == "original"}
    tasks = {(c.benchmark, c.task): c for c in board.columns}
    return [
        PaperRanks(
            table.source,
            table.place,
            str(task),
            [
                PaperRank(row.model, row.original, row.new, row.difference)
                for row in sorted(rows, key=lambda row: row.original)
            ],
        )
        for (benchmark, task), column in tasks.items()
        if (benchmark, task) in pairs
        for table in _tables(column)
        if (rows := [row for row in table.ranks if row.task == task])
    ]


def _tables(column: BoardColumn) -> Sequence[PublishedTable]:
    return published(column.benchmark) if column.benchmark else ()


def _column_runs(column: BoardColumn) -> list[Run]:
    """One run for each model: of the first table that has it, with other metrics of later ones."""
    found: dict[str, Run] = {}
    for table in _tables(column):
        for run in _runs(column, table):
            found.setdefault(_model(run), run)
    for table in _tables(column):
        for model, run in found.items():
            if table.place not in (run.place or ""):
                found[model] = _with_others(run, column, model, table)
    return list(found.values())


def _with_others(run: Run, column: BoardColumn, model: str, table: PublishedTable) -> Run:
    """The run with the metrics over all items that only this table has."""
    others = {
        score.metric: MetricEntry(mean=score.value, sd=score.sd)
        for score in table.scores
        if (score.model, score.task, score.dataset, score.by) == (model, column.task, None, {})
        and asked_as_published(column, score.options)
        and score.metric not in run.summary.metrics
    }
    if not others:
        return run
    run.summary.metrics.update(others)
    return replace(run, place=f"{run.place}; {table.place}")


def _model(run: Run) -> str:
    return run.manifest.model.name if run.manifest.model else ""


def _runs(column: BoardColumn, table: PublishedTable) -> list[Run]:
    """One run for each model that has the column's metric, asked as the column was."""
    by_model: dict[str, list[PublishedScore]] = {}
    for score in table.scores:
        if score.task == column.task and asked_as_published(column, score.options):
            by_model.setdefault(score.model, []).append(score)
    wanted = _key(column.metric)
    return [
        _run(column, table, model, scores)
        for model, scores in by_model.items()
        if column.benchmark in _ANY_METRIC or any(_key(score.metric) == wanted for score in scores)
    ]


def _run(
    column: BoardColumn, table: PublishedTable, model: str, scores: Sequence[PublishedScore]
) -> Run:
    summary = RunSummary(metrics={})
    datasets: dict[str, dict[str, MetricEntry]] = {}
    for score in scores:
        place = _place(summary, datasets, score)
        place[score.metric] = MetricEntry(mean=score.value, sd=score.sd)
        if _key(score.metric) == _key(column.metric):
            place[column.metric] = place[score.metric]
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
    manifest = Manifest(trueground="", kind="run", benchmark=part, model=ModelPart(model))
    return Run(f"published {model}", manifest, summary, source=table.source, place=table.place)


def _place(
    summary: RunSummary, datasets: dict[str, dict[str, MetricEntry]], score: PublishedScore
) -> dict[str, MetricEntry]:
    """The metrics of all items, of a dataset, or of another part of the items."""
    if score.dataset is not None:
        return datasets.setdefault(score.dataset, {})
    if not score.by:
        return summary.metrics
    ((field, value),) = score.by.items()
    return summary.by.setdefault(field, {}).setdefault(value, {})


def _key(metric: str) -> str:
    """The canonical spelling of a metric with its options, without the judge.

    Of a strict grounding metric without those by which the paper's code differs from ours.
    """
    metric = split_key(metric).spec
    try:
        spec = parse_spec(metric)
    except UsageError:
        return metric
    if spec.metric.family != "grounding":
        return spec.key
    kept = {name: v for name, v in spec.options.items() if name not in ("variant", "abstain")}
    return make_spec(spec.metric, kept).key
