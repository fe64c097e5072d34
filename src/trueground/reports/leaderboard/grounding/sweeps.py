"""Runs that differ in one option only: the context's length (Figure 4), the gold's position.

Studies of other benchmarks build on `sets_over` and `sweep_over`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from trueground.reports.leaderboard.board import Board, BoardCell, BoardColumn
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
from trueground.reports.leaderboard.short import short_checksums

_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
_ORDER = ("beginning", "middle", "end", "random")


@dataclass(frozen=True)
class SweepRow:
    """One model: a cell for each value of the option, None where it was not run."""

    name: str
    source: str | None
    cells: list[BoardCell | None]


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
        for columns, title in sets_over(versions(board), option):
            for measure in MEASURES:
                sweep = sweep_over(board, columns, option, measure, title)
                if sweep is not None:
                    found.append(sweep)
    return found


def sets_over(columns: Sequence[BoardColumn], option: str) -> list[tuple[list[BoardColumn], str]]:
    """Columns that differ in this option only, two or more, in the order of its values; a title.

    The title is the task, with the options by which the sets differ from each other.
    """
    sets = [one for one in _sets(columns, option) if len(one) > 1]
    told = sorted(differing([_rest(one[0], option) for one in sets]) - {option})
    return [(one, _title(one[0], told)) for one in sets]


def _title(column: BoardColumn, told: Sequence[str]) -> str:
    named = ", ".join(f"{name}={column.options.get(name)}" for name in told)
    return short_checksums(f"{column.task} ({named})" if named else str(column.task))


def _sets(columns: Sequence[BoardColumn], option: str) -> list[list[BoardColumn]]:
    found: dict[tuple[str | None, str, bytes], dict[bytes, BoardColumn]] = {}
    for column in columns:
        if column.options.get(option) is not None:
            rest = orjson.dumps(_rest(column, option), option=orjson.OPT_SORT_KEYS)
            key = (column.task, column.metric, rest)
            value = orjson.dumps(column.options[option])
            found.setdefault(key, {}).setdefault(value, column)
    return [sorted(own.values(), key=lambda c: _place(c.options[option])) for own in found.values()]


def _rest(column: BoardColumn, option: str) -> dict[str, Any]:
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
    """A number, which manifests have as text; None for a word such as `all`."""
    return float(str(value)) if _NUMBER.fullmatch(str(value)) else None


def sweep_over(
    board: Board, columns: list[BoardColumn], option: str, measure: str, title: str
) -> Sweep | None:
    """One measure in such columns, with each model that has it in two or more of them."""
    keys = [metric_key(board, column, measure) for column in columns]
    found = [cells(board, c, key) for c, key in zip(columns, keys, strict=True)]
    rows = [
        SweepRow(e.name, e.source, [own.get(who(e)) for own in found])
        for e in board.entrants
        if sum(who(e) in own for own in found) > 1
    ]
    if not rows:
        return None
    metric = next(key for key in keys if key is not None)
    values = [column.options[option] for column in columns]
    return Sweep(option, measure, metric, title, values, [c.id for c in columns], rows)
