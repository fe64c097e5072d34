"""The leaderboard as text for a terminal."""

from __future__ import annotations

from pathlib import Path

from trueground.reports.leaderboard.board import Cell
from trueground.reports.leaderboard.data import Leaderboard
from trueground.reports.leaderboard.qa.terminal import tables
from trueground.reports.terminal import number


def render(board: Leaderboard, path: Path) -> str:
    """A line for each model, a column for each task, and where the page lies."""
    head = ["model", *(column.title for column in board.columns)]
    rows = [
        [
            f"{row.name} (published)" if row.source else row.name,
            *(_cell(row.cells.get(column.id)) for column in board.columns),
        ]
        for row in board.rows
    ]
    blocks = [_aligned([head, *rows])]
    for scores in board.combined:
        best = [
            [f"{row.name} (published)" if row.source else row.name, number(row.score)]
            for row in scores.rows
        ]
        blocks.append(_aligned([["best of each organisation", "combined"], *best]))
    blocks += [_aligned(rows) for rows in tables(board.qa)]
    blocks.append(f"page   {path}")
    return "\n\n".join(blocks)


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return "–"
    shown = number(cell.mean)
    if cell.ci:
        shown += f" ({number(cell.ci[0])} … {number(cell.ci[1])})"
    if cell.unscored:
        shown += f" {cell.scored:,} of {cell.n:,}"
    return shown


def _aligned(rows: list[list[str]]) -> str:
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    lines = ("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
