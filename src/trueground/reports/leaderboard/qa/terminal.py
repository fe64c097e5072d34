"""The tables of instruct-qa for a terminal: lists of rows of words, the head first."""

from __future__ import annotations

from trueground.reports.leaderboard.board import BoardCell
from trueground.reports.leaderboard.qa.abstention import Abstention
from trueground.reports.leaderboard.qa.data import Qa
from trueground.reports.leaderboard.qa.instructions import MEASURES, InstructionChange, Instructions
from trueground.reports.leaderboard.qa.planes import Plane
from trueground.reports.leaderboard.qa.retrievers import Retrievers
from trueground.reports.terminal import number

Rows = list[list[str]]


def tables(found: Qa) -> list[Rows]:
    """A short table for each that the page has."""
    return [
        *map(_plane, found.planes),
        *map(_abstention, found.abstention),
        *map(_retrievers, found.retrievers),
        *map(_instructions, found.instructions),
    ]


def heading(*parts: str) -> str:
    """What a table is of, in a few words."""
    return ", ".join(part for part in parts if part)


def _plane(plane: Plane) -> Rows:
    of = heading(plane.task, plane.setting, plane.instruction, plane.title)
    return [
        [of, *plane.metrics],
        *(
            [_name(row.name, row.source), _mean(row.recall), _mean(row.k_precision)]
            for row in plane.rows
        ),
    ]


def _abstention(table: Abstention) -> Rows:
    of = heading(table.task, table.instruction, table.title)
    return [
        [f"declining: {of}", "P_IR (higher)", "P_G (lower)", "F1", "over"],
        *(
            [
                heading(_name(row.name, row.source), row.label),
                _mean(row.p_ir),
                _mean(row.p_g),
                number(row.f1),
                f"{row.common:,} in common" if row.common else "",
            ]
            for row in table.rows
        ),
    ]


def _retrievers(table: Retrievers) -> Rows:
    of = heading(table.task, table.instruction, table.title)
    rows = [[f"retrievers: {of}", *table.metrics.values(), "gold retrieved"]]
    for row in table.rows:
        for cell in row.cells:
            values = [_mean(getattr(cell, measure)) for measure in table.metrics]
            share = number(cell.gold.share if cell.gold else None)
            rows.append([f"{row.name}, {cell.label}", *values, share])
    return rows


def _instructions(table: Instructions) -> Rows:
    of = heading(table.task, table.setting, table.title)
    names = ("Recall", "K-Precision", "P_G")
    return [
        [f"v1 → v2: {of}", *names, "gold retrieved"],
        *(
            [
                _name(row.name, row.source),
                *(_change(row.changes[measure]) for measure in MEASURES),
                number(row.gold.share if row.gold else None),
            ]
            for row in table.rows
        ),
    ]


def _change(change: InstructionChange) -> str:
    if change.v1 is None and change.v2 is None:
        return "–"
    shown = f"{_mean(change.v1)} → {_mean(change.v2)}"
    if change.difference is None:
        return shown
    told = f"{change.difference:+.4f}" if change.relative is None else f"{change.relative:+.1%}"
    if not told.strip("+-0.%"):
        told = told[1:]
    return f"{shown} ({told})".replace("-", "−").replace("%", " %")


def _mean(cell: BoardCell | None) -> str:
    return number(None if cell is None else cell.mean)


def _name(name: str, source: str | None) -> str:
    return f"{name} (published)" if source else name
