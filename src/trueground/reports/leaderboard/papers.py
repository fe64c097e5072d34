"""A paper's scores as runs, so that they stand in the same columns as the user's; and its ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trueground.benchmarks.published import PublishedScore, PublishedTable, published
from trueground.errors import UsageError
from trueground.metrics.registry import parse_spec
from trueground.reports.leaderboard.board import Board, Column
from trueground.reports.leaderboard.runs import (
    DATASET,
    BenchmarkPart,
    Entry,
    Manifest,
    ModelPart,
    Run,
    Summary,
)
from trueground.reports.leaderboard.standard import asked_as_published


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

    Comparable is the same task with the same options and the same metric. Raises UsageError where
    there is none.
    """
    found = [
        run for column in board.columns for table in _tables(column) for run in _runs(column, table)
    ]
    if not found:
        titles = ", ".join(column.title for column in board.columns) or "none"
        raise UsageError(
            "--with-published: no published number belongs to these runs. The paper's are direct "
            "answers to whole tasks by strict matching (trueground run faitheval); the runs here "
            f"are: {titles}. Leave the option out."
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


def _tables(column: Column) -> Sequence[PublishedTable]:
    return published(column.benchmark) if column.benchmark else ()


def _runs(column: Column, table: PublishedTable) -> list[Run]:
    """One run for each model that has the column's metric, asked as the column was."""
    by_model: dict[str, list[PublishedScore]] = {}
    for score in table.scores:
        if score.task == column.task and asked_as_published(column, score.options):
            by_model.setdefault(score.model, []).append(score)
    wanted = _key(column.metric)
    return [
        _run(column, table, model, scores)
        for model, scores in by_model.items()
        if any(_key(score.metric) == wanted for score in scores)
    ]


def _run(
    column: Column, table: PublishedTable, model: str, scores: Sequence[PublishedScore]
) -> Run:
    summary = Summary(metrics={})
    datasets: dict[str, dict[str, Entry]] = {}
    for score in scores:
        place = summary.metrics if score.dataset is None else datasets.setdefault(score.dataset, {})
        place[score.metric] = Entry(mean=score.value)
        if _key(score.metric) == _key(column.metric):
            place[column.metric] = place[score.metric]
    if datasets:
        summary.by[DATASET] = datasets
        summary.averages[DATASET] = {
            name: Entry(mean=entry.mean, values=sum(name in split for split in datasets.values()))
            for name, entry in summary.metrics.items()
        }
    part = BenchmarkPart(
        column.benchmark or "", column.task or "", column.metric, dict(column.options)
    )
    manifest = Manifest(trueground="", kind="run", benchmark=part, model=ModelPart(model))
    return Run(f"published {model}", manifest, summary, source=table.source, place=table.place)


def _key(metric: str) -> str:
    """The canonical spelling of a metric with its options."""
    try:
        return parse_spec(metric).key
    except UsageError:
        return metric
