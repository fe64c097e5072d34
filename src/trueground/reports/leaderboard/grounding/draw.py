"""The tables of Truly-Ground as pictures: numbers → positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trueground.reports.charts import ChartScale, Interval, interval
from trueground.reports.leaderboard.board import BoardCell
from trueground.reports.leaderboard.charts import scale_over
from trueground.reports.leaderboard.grounding.definitions import Definition
from trueground.reports.leaderboard.grounding.settings import PAIRS, STRICT
from trueground.reports.leaderboard.grounding.sizes import ALL, PARTS, BySize
from trueground.reports.leaderboard.grounding.sweeps import Sweep, number_of
from trueground.reports.leaderboard.grounding.versions import VersionTable
from trueground.reports.leaderboard.outside import OutsideScore
from trueground.reports.leaderboard.plot import Dot, Plot, lines_plot, nice, plot

_CROWDED = 30  # marks above which the published ones have no number
LEAST = 3  # models in a picture of points; two are better read in the table


@dataclass(frozen=True)
class ChangeBar:
    """A bar from zero to one side: position, width and the place of zero, in percent."""

    x: float
    width: float
    zero: float


@dataclass(frozen=True)
class DropRow:
    """One model's share lost, as a bar."""

    name: str
    source: str | None
    rate: float
    bar: ChangeBar


@dataclass(frozen=True)
class DropChart:
    """The share that each model loses between two versions, least first (Figure 5)."""

    title: str
    scale: ChartScale
    rows: list[DropRow]


@dataclass(frozen=True)
class ValueBars:
    """One model over the values of an option that has no order of size."""

    name: str
    source: str | None
    scale: ChartScale
    rows: list[tuple[str, BoardCell, Interval | None]]


def drop_charts(tables: Sequence[VersionTable]) -> list[DropChart]:
    """Grounding F1 between each pair of columns, with all models that have both, each pair once."""
    found: dict[tuple[str, str], DropChart] = {}
    for table in (table for table in tables if table.measure == STRICT):
        for before, after in PAIRS:
            ids = table.columns.get(before, ""), table.columns.get(after, "")
            known = [
                (row.name, row.source, drop.rate)
                for row in table.rows
                for drop in row.drops
                if (drop.before, drop.after) == (before, after) and drop.rate is not None
            ]
            if len(known) > (len(found[ids].rows) if ids in found else 0):
                title = f"{before} → {after}"
                told = table.title and after != "conflict-gold"  # gold only: no distractors
                found[ids] = _drops(f"{title} ({table.title})" if told else title, known)
    return list(found.values())


def _drops(title: str, rates: Sequence[tuple[str, str | None, float]]) -> DropChart:
    scale, _ = nice([0.0, *(rate for _, _, rate in rates)])
    rows = [
        DropRow(name, source, rate, _bar(scale, rate))
        for name, source, rate in sorted(rates, key=lambda one: (one[2], one[0]))
    ]
    return DropChart(title, scale, rows)


def _bar(scale: ChartScale, value: float) -> ChangeBar:
    zero, end = scale.at(0.0), scale.at(value)
    return ChangeBar(min(zero, end), round(abs(end - zero), 2), zero)


def size_plot(table: BySize) -> Plot | None:
    """Single and multi as two shapes, or all items where there is no such split."""
    if len(table.rows) < LEAST:
        return None
    split = any(row.values[p] is not None for row in table.rows for p in PARTS[1:])
    parts = PARTS[1:] if split else (ALL,)
    crowded = len(table.rows) * len(parts) > _CROWDED
    dots = [
        Dot(row.size, value, f"{row.name}, {p}: {value:.4f} at {row.size:g}B",
            None if crowded and row.source else number, k, row.source)
        for k, p in enumerate(parts)
        for number, row in enumerate(table.rows, 1)
        if (value := row.values[p]) is not None
    ]  # fmt: skip
    return plot([dots], sizes=True, percent=table.kind == "reduction")


def definition_plot(definition: Definition) -> Plot | None:
    """The earlier definition across, the strict one up."""
    if len(definition.rows) < LEAST:
        return None
    return plot([[
        Dot(row.earlier, row.strict, f"{row.name}: {row.earlier:.4f}, {row.strict:.4f}", number,
            0, row.source)
        for number, row in enumerate(definition.rows, 1)
    ]])  # fmt: skip


def outside_plot(score: OutsideScore) -> Plot | None:
    """The outside score across, the run's mean up."""
    if len(score.rows) < LEAST:
        return None
    return plot([[
        Dot(row.outside, row.mean, f"{row.name}: {row.outside:g}, {row.mean:.4f}", number, 0,
            row.source)
        for number, row in enumerate(score.rows, 1)
    ]])  # fmt: skip


def sweep_plot(sweep: Sweep) -> Plot | None:
    """A line for each model, its number at the last point; None where a value is no number."""
    lines = [(row.name, row.source, row.cells) for row in sweep.rows]
    return lines_plot([number_of(value) for value in sweep.values], lines)


def sweep_bars(sweep: Sweep) -> list[ValueBars]:
    """A bar for each value, model by model, on one scale; empty where a curve can be drawn."""
    if all(number_of(value) is not None for value in sweep.values):
        return []
    scale = scale_over([cell for row in sweep.rows for cell in row.cells if cell])
    return [
        ValueBars(
            row.name,
            row.source,
            scale,
            [
                (str(value), cell, interval({"mean": cell.mean, "ci": cell.ci}, scale))
                for value, cell in zip(sweep.values, row.cells, strict=True)
                if cell
            ],
        )
        for row in sweep.rows
    ]
