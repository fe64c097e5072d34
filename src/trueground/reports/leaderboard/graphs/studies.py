"""What an answer cites while its graph is worsened: pieces removed, graphs replaced (5.2, 5.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trueground.reports.leaderboard.board import Board, BoardCell, BoardColumn
from trueground.reports.leaderboard.graphs.settings import (
    ACCURACY,
    CITED,
    MISSING,
    REMOVE,
    Grid,
    asked,
)
from trueground.reports.leaderboard.grounding.sweeps import number_of, sets_over


@dataclass(frozen=True)
class StudyRow:
    """One model: for each measure a cell for each value of the option, None where there is none."""

    name: str
    source: str | None
    cells: list[list[BoardCell | None]]


@dataclass(frozen=True)
class Study:
    """Columns that differ in `option` only, by `measures` (in words); `columns` are their ids."""

    option: str
    title: str
    values: list[str]
    columns: list[str]
    measures: list[str]
    rows: list[StudyRow]


def removals(board: Board) -> list[Study]:
    """Citation quality with 0, 1, … pieces of the minimum set removed (Table 5)."""
    return _studies(board, REMOVE, CITED)


def marks(board: Board) -> list[Study]:
    """Precision, recall and F1 of [NA] over the pieces removed (Figure 4)."""
    return _studies(board, REMOVE, MISSING)


def replacements(board: Board) -> list[Study]:
    """Citation quality with fewer and fewer of the right graphs (Figure 5)."""
    return _studies(board, ACCURACY, CITED)


def _studies(board: Board, option: str, measures: Mapping[str, str]) -> list[Study]:
    found = []
    for columns, title in sets_over(asked(board), option):
        ordered = columns[::-1] if option == ACCURACY else columns
        study = _study(board, ordered, option, title, measures)
        if study.rows:
            found.append(study)
    return found


def _study(
    board: Board, columns: list[BoardColumn], option: str, title: str, measures: Mapping[str, str]
) -> Study:
    grid = Grid(board, columns, measures)
    rows = [
        StudyRow(e.name, e.source, [[grid.cell(e, c, m) for c in columns] for m in measures])
        for e in board.entrants
    ]
    rows = [row for row in rows if any(sum(map(bool, line)) > 1 for line in row.cells)]
    # A measure that no row has, such as precision without a minimum set, is left out.
    kept = [k for k in range(len(measures)) if any(any(row.cells[k]) for row in rows)]
    words = list(measures.values())
    return Study(
        option,
        title,
        [str(column.options[option]) for column in columns],
        [column.id for column in columns],
        [words[k] for k in kept],
        [StudyRow(row.name, row.source, [row.cells[k] for k in kept]) for row in rows],
    )


def places(study: Study) -> list[float | None]:
    """The values as numbers, None where one is none."""
    return [number_of(value) for value in study.values]
