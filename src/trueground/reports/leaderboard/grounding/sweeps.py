"""Runs that differ in one option only: the context's length (Figure 4), the gold's position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from trueground.reports.leaderboard.board import Board, Cell, Column
from trueground.reports.leaderboard.grounding.settings import (
    BUDGET,
    MEASURES,
    POSITION,
    SEED,
    cells,
    differing,
    metric_key,
    versions,
    who,
)

_ORDER = ("beginning", "middle", "end", "random")


@dataclass(frozen=True)
class SweepRow:
    """One model: a cell for each value of the option, None where it was not run."""

    name: str
    source: str | None
    cells: list[Cell | None]


@dataclass(frozen=True)
class Sweep:
    """One measure in one version over the values of one option; `columns` are ids, in order."""

    option: str
    measure: str
    metric: str
    title: str
    values: list[Any]
    columns: list[str]
    rows: list[SweepRow]


def sweeps(board: Board) -> list[Sweep]:
    """Every set of columns that differ only in the budget, or only in the gold's position."""
    found = []
    for option in (BUDGET, POSITION):
        sets = [s for s in _sets(versions(board), option) if len(s) > 1]
        told = differing([_rest(columns[0], option) for columns in sets])
        for columns in sets:
            for measure in MEASURES:
                sweep = _sweep(board, columns, option, measure, told)
                if sweep is not None:
                    found.append(sweep)
    return found


def _sets(columns: Sequence[Column], option: str) -> list[list[Column]]:
    found: dict[tuple[str | None, str, bytes], dict[bytes, Column]] = {}
    for column in columns:
        if option in column.options:
            rest = orjson.dumps(_rest(column, option), option=orjson.OPT_SORT_KEYS)
            key = (column.task, column.metric, rest)
            value = orjson.dumps(column.options[option])
            found.setdefault(key, {}).setdefault(value, column)
    return [sorted(own.values(), key=lambda c: _place(c.options[option])) for own in found.values()]


def _rest(column: Column, option: str) -> dict[str, Any]:
    """The other options; only a random position has a seed."""
    out = {option, SEED} if option == POSITION else {option}
    return {name: value for name, value in column.options.items() if name not in out}


def _place(value: object) -> tuple[int, float, str]:
    """Numbers by size, positions as they lie, anything else by name."""
    number = number_of(value)
    if number is not None:
        return 0, number, ""
    place = _ORDER.index(str(value)) if str(value) in _ORDER else len(_ORDER)
    return 1, place, str(value)


def number_of(value: object) -> float | None:
    """A length in tokens, which manifests have as text; None for `all`."""
    text = str(value)
    return float(text) if text.isascii() and text.isdecimal() else None


def _sweep(
    board: Board, columns: list[Column], option: str, measure: str, told: set[str]
) -> Sweep | None:
    keys = [metric_key(board, column, measure) for column in columns]
    found = [cells(board, c, key) for c, key in zip(columns, keys, strict=True)]
    rows = [
        SweepRow(e.name, e.source, [own.get(who(e)) for own in found])
        for e in board.entrants
        if sum(who(e) in own for own in found) > 1
    ]
    if not rows:
        return None
    named = [f"{n}={columns[0].options.get(n)}" for n in sorted(told - {option})]
    title = f"{columns[0].task} ({', '.join(named)})" if named else str(columns[0].task)
    metric = next(key for key in keys if key is not None)
    values = [column.options[option] for column in columns]
    return Sweep(option, measure, metric, title, values, [c.id for c in columns], rows)
