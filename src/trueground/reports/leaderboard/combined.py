"""One number from three tasks: the best model of each organisation (FaithEval, Figure 1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trueground.reports.leaderboard.board import TASK_ORDER, Board, BoardColumn, Entrant
from trueground.reports.leaderboard.facts import ModelFacts
from trueground.reports.leaderboard.standard import asked_as_published

BENCHMARK = "faitheval"


@dataclass(frozen=True)
class Combined:
    """An organisation's best model. `parts` are its accuracies, one a task, and `score` their mean.

    `placed_by` is what it is ranked by where a part is over fewer items (see `Cell`).
    `organisation` is None for a model that the models table does not have: it stands alone.
    """

    name: str
    organisation: str | None
    source: str | None
    parts: list[float]
    score: float
    placed_by: float | None = None

    @property
    def place_value(self) -> float:
        """What the row is ranked by."""
        return self.score if self.placed_by is None else self.placed_by


@dataclass(frozen=True)
class CombinedScores:
    """Best models in order, over these columns; `missing` lacks a task and is not compared."""

    columns: list[str]
    titles: list[str]
    rows: list[Combined]
    missing: list[str]


def combined_scores(board: Board, facts: Mapping[str, ModelFacts]) -> list[CombinedScores]:
    """One list for each scheme in which all three tasks were run, otherwise as in the paper."""
    found = []
    for columns in _triples(board):
        entries = [_combined(e, columns, facts) for e in board.entrants]
        best: dict[tuple[str, str], Combined] = {}
        for entry in filter(None, entries):
            # A model of unknown origin competes with nobody.
            key = ("", entry.organisation) if entry.organisation else (entry.name, "")
            if key not in best or entry.place_value > best[key].place_value:
                best[key] = entry
        ids = {column.id for column in columns}
        missing = [
            entrant.name
            for entrant, entry in zip(board.entrants, entries, strict=True)
            if entry is None and entrant.source is None and ids & entrant.runs.keys()
        ]
        rows = sorted(best.values(), key=lambda row: (-row.place_value, row.name))
        if rows:
            titles = [column.title for column in columns]
            found.append(CombinedScores([c.id for c in columns], titles, rows, missing))
    return found


def _triples(board: Board) -> list[list[BoardColumn]]:
    """The three tasks' columns, scheme by scheme."""
    schemes: dict[object, dict[str, BoardColumn]] = {}
    for column in board.columns:
        if column.benchmark == BENCHMARK and column.task in TASK_ORDER:
            scheme = column.options.get("scheme", "direct")
            if asked_as_published(column, {"scheme": scheme} if scheme != "direct" else {}):
                schemes.setdefault(scheme, {}).setdefault(column.task, column)
    return [
        [tasks[task] for task in TASK_ORDER]
        for tasks in schemes.values()
        if tasks.keys() >= set(TASK_ORDER)
    ]


def _combined(
    entrant: Entrant, columns: list[BoardColumn], facts: Mapping[str, ModelFacts]
) -> Combined | None:
    found = [entrant.cell(column) for column in columns]
    parts = [cell.mean for cell in found if cell and cell.mean is not None]
    if len(parts) < len(columns):
        return None
    placed = [cell.place_value or 0.0 for cell in found if cell]
    fewer = any(cell.placed_by is not None for cell in found if cell)
    known = facts.get(entrant.model)
    return Combined(
        name=entrant.name,
        organisation=known.organisation if known else None,
        source=entrant.source,
        parts=parts,
        score=sum(parts) / len(parts),
        placed_by=sum(placed) / len(placed) if fewer else None,
    )
