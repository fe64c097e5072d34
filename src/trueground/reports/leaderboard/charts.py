"""A column of the leaderboard as bars: numbers → positions in percent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueground.reports.charts import ChartScale, Interval, interval, scale_for
from trueground.reports.leaderboard.board import BoardCell, BoardColumn
from trueground.reports.leaderboard.data import Leaderboard


@dataclass(frozen=True)
class BarRow:
    """One model's bar; `drawing` is None where it has no mean."""

    name: str
    source: str | None
    cell: BoardCell
    best: bool
    drawing: Interval | None


@dataclass(frozen=True)
class Bars:
    """One column as bars, best first."""

    column: BoardColumn
    scale: ChartScale
    rows: list[BarRow]


def bars(board: Leaderboard) -> list[Bars]:
    """A chart for each column."""
    found = []
    for column in board.columns:
        pairs = [(row, row.cells[column.id]) for row in board.rows if column.id in row.cells]
        scale = scale_over([cell for _, cell in pairs])
        drawn = [
            BarRow(row.name, row.source, cell, column.id in row.best, _interval(cell, scale))
            for row, cell in sorted(pairs, key=lambda pair: _order(pair[1], column))
        ]
        found.append(Bars(column, scale, drawn))
    return found


def scale_over(cells: Sequence[BoardCell]) -> ChartScale:
    """One scale for all of a column: 0 to 1 wherever that holds everything."""
    ends = [end for cell in cells for end in (cell.mean, *(cell.ci or ())) if end is not None]
    return scale_for(np.array(ends, np.float32), {})


def _interval(cell: BoardCell, scale: ChartScale) -> Interval | None:
    return interval({"mean": cell.mean, "ci": cell.ci}, scale)


def _order(cell: BoardCell, column: BoardColumn) -> float:
    value = cell.place_value
    if value is None:
        return math.inf
    return value if column.higher_is_better is False else -value
