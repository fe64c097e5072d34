"""The leaderboard as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trueground.reports.leaderboard.board import BoardCell
from trueground.reports.leaderboard.data import Leaderboard
from trueground.reports.leaderboard.qa.terminal import tables
from trueground.reports.leaderboard.short import LONG
from trueground.reports.terminal import number

WIDEST = 160  # characters of a line


def render(board: Leaderboard, path: Path) -> str:
    """A line for each model, a column for each task, and where the page lies.

    What does not fit into lines of 160 characters goes on below.
    """
    blocks = _scores(board)
    for scores in board.combined:
        best = [
            [
                f"{row.name} (published)" if row.source else row.name,
                number(row.score) + _mark(row.placed_by),
            ]
            for row in scores.rows
        ]
        blocks.append(_aligned([["best of each organisation", "combined"], *best]))
    blocks += [board.fewer] * bool(board.fewer)
    blocks += [_aligned(rows) for rows in tables(board.qa)]
    blocks.append(f"page   {path}")
    return "\n\n".join(blocks)


def _scores(board: Leaderboard) -> list[str]:
    """The table; a wide one as several, below one another.

    Where titles are long, its columns have numbers as heads, and a legend.
    """
    names = ["model", *(f"{r.name} (published)" if r.source else r.name for r in board.rows)]
    titles = [column.title for column in board.columns]
    columns = [
        [column.title, *(_cell(row.cells.get(column.id)) for row in board.rows)]
        for column in board.columns
    ]
    legend = []
    if _width([names, *columns]) > WIDEST and max(map(len, titles)) > LONG:
        legend = ["\n".join(f"[{place}]  {title}" for place, title in enumerate(titles, 1))]
        columns = [[f"[{place}]", *values] for place, (_, *values) in enumerate(columns, 1)]
    blocks: list[list[list[str]]] = [[]]
    for column in columns:
        if blocks[-1] and _width([names, *blocks[-1], column]) > WIDEST:
            blocks.append([])
        blocks[-1].append(column)
    return [*(_aligned(list(zip(names, *block, strict=True))) for block in blocks), *legend]


def _width(columns: Sequence[Sequence[str]]) -> int:
    return sum(max(map(len, cells)) for cells in columns) + 2 * (len(columns) - 1)


def _cell(cell: BoardCell | None) -> str:
    if cell is None:
        return "–"
    shown = number(cell.mean)
    if cell.ci:
        shown += f" ({number(cell.ci[0])} … {number(cell.ci[1])})"
    if cell.unscored:
        shown += f" {cell.scored:,} of {cell.n:,}"
    return shown + _mark(cell.placed_by)


def _mark(placed_by: float | None) -> str:
    """Beside a mean over fewer items: what it is ranked by."""
    return "" if placed_by is None else f" † ranked by {number(placed_by)}"


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    lines = ("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
