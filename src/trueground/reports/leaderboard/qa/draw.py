"""The tables of instruct-qa as pictures: numbers → positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trueground.reports.charts import ChartScale, Interval, interval
from trueground.reports.leaderboard.board import BoardCell
from trueground.reports.leaderboard.charts import scale_over
from trueground.reports.leaderboard.plot import nice
from trueground.reports.leaderboard.qa.abstention import Abstention
from trueground.reports.leaderboard.qa.data import Qa
from trueground.reports.leaderboard.qa.gold import GoldShare
from trueground.reports.leaderboard.qa.instructions import Instructions
from trueground.reports.leaderboard.qa.planes import Plane
from trueground.reports.leaderboard.qa.retrievers import Retrievers
from trueground.reports.leaderboard.scatter import (
    BOTTOM,
    HEIGHT,
    LEFT,
    SHAPES,
    TOP,
    FamilyLine,
    ModelPoint,
    numbered,
)

_RIGHT = 94.0  # percent: room for half of the last tick's words
_SLOPE = (30.0, 76.0)  # percent: where v1 and v2 stand
Shapes = Mapping[tuple[str, str | None], int]


@dataclass(frozen=True)
class Mark(ModelPoint):
    """A point with an interval across as well, `left` and `right` in percent."""

    left: float | None = None
    right: float | None = None


@dataclass(frozen=True)
class Picture:
    """Marks and lines on two axes. Ticks are (position, words).

    `ideal` is the place of the best corner, `diagonal` the line on which both axes are equal.
    """

    points: list[ModelPoint]
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    lines: list[FamilyLine]
    ideal: tuple[float, float] | None = None
    diagonal: FamilyLine | None = None


@dataclass(frozen=True)
class RetrieverBars:
    """One measure: model → (retriever, cell, its bar, how often the gold was found)."""

    measure: str
    metric: str
    scale: ChartScale
    rows: list[tuple[str, list[tuple[str, BoardCell, Interval | None, GoldShare | None]]]]


def shapes(found: Qa) -> Shapes:
    """One marker for each model, the same in every picture of these sections."""
    return {who: number % SHAPES for number, who in enumerate(found.models)}


def plane_picture(plane: Plane, own: Shapes) -> Picture:
    """Recall across, K-Precision up, numbered as the table's rows."""
    dots = [
        (row.recall, row.k_precision, number, row.name, row.source, "")
        for number, row in enumerate(plane.rows, 1)
        if row.recall and row.k_precision
    ]
    across, x_values = nice(_ends([dot[0] for dot in dots]))
    up, y_values = nice(_ends([dot[1] for dot in dots]))
    points = [_mark(dot, across, up, own, "recall", "K-Precision") for dot in dots]
    return Picture(numbered(points), _across(across, x_values), _down(up, y_values), [])


def abstention_picture(table: Abstention, own: Shapes) -> Picture:
    """P_G across, P_IR up, both from 0 to 1, so that the ideal corner is in the picture."""
    scale, values = ChartScale(), [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    points = [
        _mark(
            (row.p_g, row.p_ir, number, row.name, row.source, row.label),
            scale, scale, own, "P_G", "P_IR",
        )
        for number, row in enumerate(table.rows, 1)
    ]  # fmt: skip
    low, high = (_x(scale, 0), _y(scale, 0)), (_x(scale, 1), _y(scale, 1))
    return Picture(
        numbered(points), _across(scale, values), _down(scale, values), [],
        ideal=(low[0], high[1]), diagonal=FamilyLine(*low, *high, 0),
    )  # fmt: skip


def slope_picture(table: Instructions, measure: str, own: Shapes) -> Picture | None:
    """One measure, v1 at the left and v2 at the right; None where no model has both."""
    pairs = [
        (number, row, (change.v1, change.v2))
        for number, row in enumerate(table.rows, 1)
        if (change := row.changes[measure]).v1 and change.v2
    ]
    cells = [cell for _, _, pair in pairs for cell in pair if cell]
    if not cells:
        return None
    scale, values = nice(_ends(cells))
    points: list[ModelPoint] = []
    lines = []
    for number, row, pair in pairs:
        shape = own[row.name, row.source]
        ends = [
            _point(cell, x, scale, number if k else None, shape, row.source,
                   f"{row.name}, v{k + 1}: {cell.mean or 0.0:.4f}")
            for k, (x, cell) in enumerate(zip(_SLOPE, pair, strict=True))
            if cell
        ]  # fmt: skip
        points += ends
        lines.append(FamilyLine(ends[0].x, ends[0].y, ends[1].x, ends[1].y, shape))
    ticks = [(x, f"v{k}") for k, x in enumerate(_SLOPE, 1)]
    return Picture(numbered(points), ticks, _down(scale, values), lines)


def retriever_bars(table: Retrievers) -> list[RetrieverBars]:
    """For each measure the retrievers' bars, model by model, on one scale."""
    found = []
    for measure, metric in table.metrics.items():
        cells = {
            row.name: [(one, getattr(one, measure)) for one in row.cells if getattr(one, measure)]
            for row in table.rows
        }
        scale = scale_over([cell for own in cells.values() for _, cell in own])
        rows = [
            (
                name,
                [(one.label, cell, _bar(cell, scale), one.gold) for one, cell in own],
            )
            for name, own in cells.items()
            if own
        ]
        found.append(RetrieverBars(measure, metric, scale, rows))
    return found


def _bar(cell: BoardCell, scale: ChartScale) -> Interval | None:
    return interval({"mean": cell.mean, "ci": cell.ci}, scale)


def _ends(cells: Sequence[BoardCell]) -> list[float]:
    return [end for cell in cells for end in (cell.mean, *(cell.ci or ())) if end is not None]


def _mark(
    dot: tuple[BoardCell, BoardCell, int, str, str | None, str],
    across: ChartScale,
    up: ChartScale,
    own: Shapes,
    x_name: str,
    y_name: str,
) -> ModelPoint:
    x, y, number, name, source, retriever = dot
    told = f"{name}, {retriever}" if retriever else name
    words = f"{told}: {x_name} {x.mean or 0.0:.4f}, {y_name} {y.mean or 0.0:.4f}"
    at = _x(across, x.mean or 0.0)
    point = _point(y, at, up, number, own[name, source], source, words)
    left, right = (_x(across, end) for end in x.ci) if x.ci else (None, None)
    return Mark(**vars(point), left=left, right=right)


def _point(
    cell: BoardCell,
    x: float,
    scale: ChartScale,
    number: int | None,
    shape: int,
    source: str | None,
    words: str,
) -> ModelPoint:
    low, high = (_y(scale, end) for end in cell.ci) if cell.ci else (None, None)
    return ModelPoint(number, x, _y(scale, cell.mean or 0.0), low, high, shape, source, words)


def _x(scale: ChartScale, value: float) -> float:
    return round(LEFT + scale.at(value) * (_RIGHT - LEFT) / 100, 2)


def _y(scale: ChartScale, value: float) -> float:
    return round(HEIGHT - BOTTOM - scale.at(value) * (HEIGHT - TOP - BOTTOM) / 100, 1)


def _across(scale: ChartScale, values: Sequence[float]) -> list[tuple[float, str]]:
    return [(_x(scale, value), f"{value:g}") for value in values]


def _down(scale: ChartScale, values: Sequence[float]) -> list[tuple[float, str]]:
    return [(_y(scale, value), f"{value:g}") for value in values]
