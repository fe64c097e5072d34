"""Two numbers of each model against each other: numbers → positions, as in the size scatter."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from trueground.reports.charts import ChartScale
from trueground.reports.leaderboard.board import BoardCell
from trueground.reports.leaderboard.scatter import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    SHAPES,
    TOP,
    FamilyLine,
    ModelPoint,
    numbered,
    size_ticks,
)

_STEPS = 5  # ticks on an axis, about


@dataclass(frozen=True)
class Dot:
    """One mark: its numbers, `low` and `high` of its interval, its label, shape and words."""

    x: float
    y: float
    words: str
    number: int | None = None
    shape: int = 0
    source: str | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Plot:
    """Points and the lines that join some. Ticks are (position, words)."""

    points: list[ModelPoint]
    lines: list[FamilyLine]
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]


def plot(
    series: Sequence[Sequence[Dot]],
    *,
    sizes: bool = False,
    joined: bool = False,
    percent: bool = False,
    ticks: Sequence[float] = (),
    ends: Sequence[float] = (),
) -> Plot | None:
    """All dots on one pair of axes, each series joined if asked; None without dots.

    With `sizes` the x axis is logarithmic, in billions of parameters; with `percent` the y axis
    is told in percent. `ticks` are the x axis from its left to its right end, which may be the
    lower one; `ends` are further values that the y axis should hold.
    """
    dots = [dot for one in series for dot in one]
    if not dots:
        return None
    xs = [dot.x for dot in dots]
    y_scale, y_values = nice(
        [*ends, *(e for d in dots for e in (d.y, d.low, d.high) if e is not None)]
    )
    if sizes:
        x_scale = _wide(math.log10(min(xs)), math.log10(max(xs)))
        x_ticks = [(size, f"{size:g}B") for size in size_ticks(min(xs), max(xs))]
    else:
        x_scale, x_values = (ChartScale(ticks[0], ticks[-1]), ticks) if ticks else nice(xs)
        x_ticks = [(value, _words(value)) for value in x_values]

    def across(x: float) -> float:
        at = x_scale.at(math.log10(x) if sizes else x)
        return round(LEFT + at * (RIGHT - LEFT) / 100, 2)

    def down(y: float) -> float:
        return round(HEIGHT - BOTTOM - y_scale.at(y) * (HEIGHT - TOP - BOTTOM) / 100, 1)

    placed = [[_point(dot, across, down) for dot in one] for one in series]
    lines = [
        FamilyLine(a.x, a.y, b.x, b.y, a.shape)
        for one in (placed if joined else ())
        for a, b in pairwise(one)
    ]
    return Plot(
        numbered([point for one in placed for point in one]),
        lines,
        [(across(value), words) for value, words in x_ticks],
        [(down(y), f"{_words(round(100 * y, 9))} %" if percent else _words(y)) for y in y_values],
    )


def lines_plot(
    xs: Sequence[float | None],
    lines: Sequence[tuple[str, str | None, Sequence[BoardCell | None]]],
    *,
    ticks: Sequence[float] = (),
    ends: Sequence[float] = (),
) -> Plot | None:
    """A line for each name, source and cells over `xs`, its number where the lines lie apart.

    That is at the last points, or else at the first. None where a value of `xs`
    is no number, or nothing is to be drawn.
    """
    if any(x is None for x in xs):
        return None
    known = [
        [(x, c) for x, c in zip(xs, cells, strict=True) if x is not None and c]
        for _, _, cells in lines
    ]
    first, last = ([one[k][1].mean or 0.0 for one in known if one] for k in (0, -1))
    side = -1 if _gap(last) >= _gap(first) else 0
    series = [
        [
            _cell_dot(name, source, x, cell, number if cell is own[side][1] else None, number - 1)
            for x, cell in own
        ]
        for number, ((name, source, _), own) in enumerate(zip(lines, known, strict=True), 1)
    ]
    return plot(series, joined=True, ticks=ticks, ends=ends)


def _gap(values: Sequence[float]) -> float:
    """The least distance of two of them."""
    return min((b - a for a, b in pairwise(sorted(values))), default=0.0)


def _cell_dot(
    name: str, source: str | None, x: float, cell: BoardCell, number: int | None, shape: int
) -> Dot:
    mean = cell.mean or 0.0
    low, high = cell.ci or (None, None)
    return Dot(
        x, mean, f"{name}: {mean:.4f} at {_words(x)}", number, shape % SHAPES, source, low, high
    )


def nice(values: Sequence[float]) -> tuple[ChartScale, list[float]]:
    """An axis that ends at round values around all of `values`, and its ticks.

    It goes below 0, or beyond 1, only where a value does.
    """
    low, high = min(values), max(values)
    span = (high - low) or abs(high) or 1.0
    rough = span / _STEPS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * k for k in (1, 2, 5, 10) if power * k >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    if first == last:
        first, last = first - (low != 0), last + (high != 1)
    ticks = [round(k * step, 12) for k in range(first, last + 1)]
    return ChartScale(ticks[0], ticks[-1]), ticks


def _wide(low: float, high: float) -> ChartScale:
    return ChartScale(low, high) if high > low else ChartScale(low - 0.5, high + 0.5)


def _words(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}".replace("-", "−")


def _point(
    dot: Dot, across: Callable[[float], float], down: Callable[[float], float]
) -> ModelPoint:
    return ModelPoint(
        number=dot.number,
        x=across(dot.x),
        y=down(dot.y),
        low=None if dot.low is None else down(dot.low),
        high=None if dot.high is None else down(dot.high),
        shape=dot.shape,
        source=dot.source,
        words=dot.words,
    )
