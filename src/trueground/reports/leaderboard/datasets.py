"""Models by source datasets: the numbers of a heat map."""

from __future__ import annotations

from dataclasses import dataclass

from trueground.reports.leaderboard.board import Board, BoardColumn, Entrant


@dataclass(frozen=True)
class DatasetRow:
    """One model's mean in each dataset, None where it has none, and its average over them."""

    name: str
    source: str | None
    means: list[float | None]
    counts: list[int | None]
    average: float | None


@dataclass(frozen=True)
class Datasets:
    """One column, split by dataset."""

    column: str
    title: str
    datasets: list[str]
    rows: list[DatasetRow]


def by_dataset(board: Board) -> list[Datasets]:
    """The split of each column whose runs have one."""
    found = []
    for column in board.columns:
        entrants = [e for e in board.entrants if _split(e, column)]
        names = {name for e in entrants for name in _split(e, column)}
        datasets = sorted(names, key=str.casefold)
        if datasets:
            rows = [_row(entrant, column, datasets) for entrant in entrants]
            found.append(Datasets(column.id, column.title, datasets, rows))
    return found


def _split(entrant: Entrant, column: BoardColumn) -> dict[str, tuple[float | None, int | None]]:
    """Dataset → mean and number scored of the column's metric."""
    run = entrant.runs.get(column.id)
    values = run.datasets() if run else {}
    return {
        name: (metrics[column.metric].mean, metrics[column.metric].scored)
        for name, metrics in values.items()
        if column.metric in metrics
    }


def _row(entrant: Entrant, column: BoardColumn, datasets: list[str]) -> DatasetRow:
    split = _split(entrant, column)
    pairs = [split.get(name, (None, None)) for name in datasets]
    shown = entrant.cell(column)
    return DatasetRow(
        entrant.name,
        entrant.source,
        [mean for mean, _ in pairs],
        [count for _, count in pairs],
        shown.mean if shown else None,
    )
