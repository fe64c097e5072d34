"""Models in every measure (Tables 3 and 4), and general beside specific questions (Table 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from trueground.reports.leaderboard.board import Board, BoardCell, BoardColumn, Entrant
from trueground.reports.leaderboard.graphs.settings import (
    ACCURACY,
    ALIGNMENT,
    CITED,
    GENERAL,
    MACRO,
    MINIMUM,
    REMOVE,
    SPECIFIC,
    TEXT,
    Grid,
    asked,
)
from trueground.reports.leaderboard.grounding.settings import differing
from trueground.reports.leaderboard.short import short_checksums

_ALL = {**ALIGNMENT, **CITED, **MACRO, **TEXT}
_PAIRED = {**ALIGNMENT, **CITED, **TEXT}


@dataclass(frozen=True)
class QualityRow:
    """One model: a cell for each measure."""

    name: str
    source: str | None
    cells: list[BoardCell | None]


@dataclass(frozen=True)
class Quality:
    """One column of the board in all its measures (in words)."""

    column: str
    title: str
    measures: list[str]
    rows: list[QualityRow]


@dataclass(frozen=True)
class PairRow:
    """One measure of one model; `difference` is specific minus general."""

    measure: str
    general: BoardCell
    specific: BoardCell
    difference: float


@dataclass(frozen=True)
class ModelPair:
    """One model on both kinds of questions."""

    name: str
    source: str | None
    rows: list[PairRow]


@dataclass(frozen=True)
class ModelPairs:
    """The models that were asked both kinds alike; `title` tells it from others."""

    title: str
    columns: tuple[str, str]
    models: list[ModelPair]


def qualities(board: Board) -> list[Quality]:
    """A table for each column in which nothing was taken away on purpose."""
    whole = [c for c in asked(board) if c.options.get(REMOVE) is c.options.get(ACCURACY) is None]
    found = [_quality(board, column) for column in whole]
    return [table for table in found if table.rows]


def _quality(board: Board, column: BoardColumn) -> Quality:
    grid = Grid(board, [column], _ALL)
    rows = [QualityRow(e.name, e.source, [grid.cell(e, column, m) for m in _ALL])
            for e in board.entrants]  # fmt: skip
    rows = [row for row in rows if any(row.cells)]
    kept = [k for k in range(len(_ALL)) if any(row.cells[k] for row in rows)]
    words = list(_ALL.values())
    return Quality(
        column.id,
        short_checksums(column.title),
        [words[k] for k in kept],
        [QualityRow(row.name, row.source, [row.cells[k] for k in kept]) for row in rows],
    )


def general_and_specific(board: Board) -> list[ModelPairs]:
    """Every two columns that differ in the kind of questions only."""
    columns = asked(board)
    couples = [
        (general, specific)
        for general in columns
        for specific in columns
        if (general.task, specific.task) == (GENERAL, SPECIFIC)
        and _rest(general) == _rest(specific)
    ]
    told = sorted(differing([general.options for general, _ in couples]) - {MINIMUM})
    found = []
    for general, specific in couples:
        named = [f"{name}={general.options.get(name)}" for name in told]
        models = _models(board, general, specific)
        if models:
            found.append(ModelPairs(", ".join(named), (general.id, specific.id), models))
    return found


def _rest(column: BoardColumn) -> bytes:
    """Each kind of questions may have a file of minimum sets of its own."""
    kept = {name: value for name, value in column.options.items() if name != MINIMUM}
    return orjson.dumps(kept, option=orjson.OPT_SORT_KEYS)


def _models(board: Board, general: BoardColumn, specific: BoardColumn) -> list[ModelPair]:
    grid = Grid(board, (general, specific), _PAIRED)
    found = [
        ModelPair(e.name, e.source, list(_rows(grid, e, (general, specific))))
        for e in board.entrants
    ]
    return [pair for pair in found if pair.rows]


def _rows(grid: Grid, entrant: Entrant, columns: Sequence[BoardColumn]) -> list[PairRow]:
    rows = []
    for name, words in _PAIRED.items():
        general, specific = (grid.cell(entrant, column, name) for column in columns)
        if general and specific and general.mean is not None and specific.mean is not None:
            rows.append(PairRow(words, general, specific, specific.mean - general.mean))
    return rows
