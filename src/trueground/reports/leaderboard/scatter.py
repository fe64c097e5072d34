"""Scores against model size: numbers → positions, in percent across and in pixels down."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from trueground.reports.charts import ChartScale
from trueground.reports.leaderboard.board import BoardCell, BoardColumn
from trueground.reports.leaderboard.charts import scale_over
from trueground.reports.leaderboard.data import BoardRow, Leaderboard

HEIGHT = 300  # of a scatter, in pixels
LEFT, RIGHT = 9.0, 96.0  # percent: room for the axis's words and for the last label
TOP, BOTTOM = 12.0, 14.0
_NARROW = 320  # pixels: labels that are clear of each other here are so on wider screens
SHAPES = 6  # markers and line styles that the template has


@dataclass(frozen=True)
class ModelPoint:
    """A model in a scatter: `x` in percent; `y`, `low`, `high` and the label's offset in pixels.

    `number` is None where no label stands beside the mark.
    """

    number: int | None
    x: float
    y: float
    low: float | None
    high: float | None
    shape: int
    source: str | None
    words: str
    label_dx: float = 0.0
    label_dy: float = 0.0


@dataclass(frozen=True)
class FamilyLine:
    """One piece of a family's line."""

    x1: float
    y1: float
    x2: float
    y2: float
    shape: int


@dataclass(frozen=True)
class Scatter:
    """One column against size. Ticks are (position, words)."""

    column: BoardColumn
    points: list[ModelPoint]
    lines: list[FamilyLine]
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]


@dataclass(frozen=True)
class SizeLine:
    """A row of the table under the scatters; `number` stands beside its points."""

    number: int | None
    row: BoardRow
    shape: int | None


def size_lines(board: Leaderboard) -> list[SizeLine]:
    """Models of known size first, numbered by size; the others after them."""
    known = [row for row in board.rows if row.facts and row.facts.size]
    known.sort(key=lambda row: (_size(row), row.name.casefold(), row.source or ""))
    names = sorted({row.facts.family for row in known if row.facts}, key=str.casefold)
    shapes = {name: number % SHAPES for number, name in enumerate(names)}
    lines = [
        SizeLine(number, row, shapes[row.facts.family])
        for number, row in enumerate(known, 1)
        if row.facts
    ]
    others = [row for row in board.rows if not (row.facts and row.facts.size)]
    return lines + [SizeLine(None, row, None) for row in others]


def scatters(board: Leaderboard, lines: Sequence[SizeLine]) -> list[Scatter]:
    """Each benchmark column with at least two models of known size against a logarithmic axis."""
    found = []
    for column in board.columns:
        shown = [line for line in lines if line.number and column.id in line.row.cells]
        shown = [line for line in shown if line.row.cells[column.id].mean is not None]
        if column.benchmark and len({_size(line.row) for line in shown}) > 1:
            found.append(_scatter(column, shown))
    return found


def _scatter(column: BoardColumn, shown: list[SizeLine]) -> Scatter:
    sizes = [_size(line.row) for line in shown]
    axis = ChartScale(math.log10(min(sizes)), math.log10(max(sizes)))
    scale = _close_scale([line.row.cells[column.id] for line in shown])

    def across(size: float) -> float:
        return round(LEFT + axis.at(math.log10(size)) * (RIGHT - LEFT) / 100, 2)

    def down(value: float) -> float:
        span = HEIGHT - TOP - BOTTOM
        return round(HEIGHT - BOTTOM - scale.at(value) * span / 100, 1)

    points = [_point(line, line.row.cells[column.id], across, down) for line in shown]
    x_ticks = [(across(size), f"{size:g}B") for size in size_ticks(min(sizes), max(sizes))]
    return Scatter(
        column,
        numbered(points),
        _joined(shown, points),
        x_ticks,
        [(down(value), f"{value:.3g}") for value in _steps(scale)],
    )


def _close_scale(cells: Sequence[BoardCell]) -> ChartScale:
    """The tenths around all values, so that models can be told apart; within 0 to 1 if they are."""
    scale = scale_over(cells)
    if scale != ChartScale():
        return scale
    ends = [end for cell in cells for end in (cell.mean, *(cell.ci or ())) if end is not None]
    low, high = math.floor(min(ends) * 10), math.ceil(max(ends) * 10)
    low, high = (low, high) if high - low > 1 else (max(low - 1, 0), min(high + 1, 10))
    return ChartScale(low / 10, high / 10)


def _steps(scale: ChartScale) -> list[float]:
    """Round values along the axis; quarters of it where it does not lie between 0 and 1."""
    if scale.low < 0 or scale.high > 1:
        return [scale.low + k * (scale.high - scale.low) / 4 for k in range(5)]
    low, high = round(scale.low * 20), round(scale.high * 20)
    step = 1 if high - low <= 6 else 2 if high - low <= 12 else 4
    return [k / 20 for k in range(low, high + 1, step)]


def _point(
    line: SizeLine,
    cell: BoardCell,
    across: Callable[[float], float],
    down: Callable[[float], float],
) -> ModelPoint:
    """A model's point; where its number stands is settled when all points are known."""
    assert cell.mean is not None and line.number and line.shape is not None  # noqa: PT018
    low, high = (down(end) for end in cell.ci) if cell.ci else (None, None)
    return ModelPoint(
        number=line.number,
        x=across(_size(line.row)),
        y=down(cell.mean),
        low=low,
        high=high,
        shape=line.shape,
        source=line.row.source,
        words=f"{line.row.name}: {cell.mean:.4f} at {_size(line.row):g}B",
    )


def numbered(points: Sequence[ModelPoint]) -> list[ModelPoint]:
    """Each point's number at the first place that is clear of all points and earlier numbers."""
    done: list[ModelPoint] = []
    for point in points:
        if point.number is None:
            done.append(point)
            continue
        width = _half_width(point)
        side, far = width + 6, width + 20
        places = [(side, -8), (side, 8), (-side, -8), (-side, 8), (side, 0), (-side, 0), (0, -14),
                  (0, 14), (far, 0), (-far, 0), (far, -12), (-far, -12), (far, 12), (-far, 12),
                  (0, -26), (0, 26)]  # fmt: skip
        dx, dy = min(places, key=lambda place: _crowding(point, place, points, done))
        done.append(replace(point, label_dx=dx, label_dy=dy))
    return done


def _half_width(point: ModelPoint) -> float:
    return 1 + 7 * len(str(point.number)) / 2


def _crowding(
    point: ModelPoint,
    place: tuple[float, float],
    points: Sequence[ModelPoint],
    done: Sequence[ModelPoint],
) -> int:
    """How many marks and numbers a number at that place would lie on."""
    middle, y = point.x * _NARROW / 100 + place[0], point.y + place[1]
    width = _half_width(point)
    marks = (
        abs(p.x * _NARROW / 100 - middle) < width + 5 and abs(p.y - y) < 10
        for p in points
        if p is not point
    )
    numbers = (
        p.number is not None
        and abs(p.x * _NARROW / 100 + p.label_dx - middle) < width + _half_width(p)
        and abs(p.y + p.label_dy - y) < 12
        for p in done
    )
    outside = not 4 < y < HEIGHT - 4 or not width < middle < _NARROW - width
    return sum(marks) + sum(numbers) + outside


def size_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times the powers of ten between the ends; only powers where those are many."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    fine = [step * 10.0**power for power in powers for step in (1, 2, 5)]
    inside = [size for size in fine if low <= size <= high]
    if len(inside) <= 6:
        return inside or [low, high]
    return [size for size in inside if math.log10(size).is_integer()]


def _joined(shown: Sequence[SizeLine], points: Sequence[ModelPoint]) -> list[FamilyLine]:
    """Neighbours in size of one family; published and own numbers are joined apart."""
    chains: dict[tuple[str, bool], list[ModelPoint]] = {}
    for line, point in zip(shown, points, strict=True):
        family = line.row.facts.family if line.row.facts else ""
        chains.setdefault((family, line.row.source is not None), []).append(point)
    return [
        FamilyLine(a.x, a.y, b.x, b.y, a.shape)
        for chain in chains.values()
        for a, b in pairwise(chain)
        if a.x != b.x
    ]


def _size(row: BoardRow) -> float:
    return (row.facts.size if row.facts else None) or 0.0
