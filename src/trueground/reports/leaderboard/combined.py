"""One number from three tasks: the best model of each organisation (FaithEval, Figure 1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trueground.reports.leaderboard.board import TASK_ORDER, Board, Column, Entrant
from trueground.reports.leaderboard.facts import Facts
from trueground.reports.leaderboard.standard import asked_as_published

BENCHMARK = "faitheval"


@dataclass(frozen=True)
class Combined:
    """An organisation's best model. `parts` are its accuracies, one a task, and `score` their mean.

    `organisation` is None for a model that the models table does not have: it stands alone.
    """

    name: str
    organisation: str | None
    source: str | None
    parts: list[float]
    score: float


@dataclass(frozen=True)
class CombinedScores:
    """Best models in order, over these columns; `missing` lacks a task and is not compared."""

    columns: list[str]
    titles: list[str]
    rows: list[Combined]
    missing: list[str]


def combined_scores(board: Board, facts: Mapping[str, Facts]) -> list[CombinedScores]:
    """One list for each scheme in which all three tasks were run, otherwise as in the paper."""
    found = []
    for columns in _triples(board):
        entries = [_combined(e, columns, facts) for e in board.entrants]
        best: dict[tuple[str, str], Combined] = {}
        for entry in filter(None, entries):
            # A model of unknown origin competes with nobody.
            key = ("", entry.organisation) if entry.organisation else (entry.name, "")
            if key not in best or entry.score > best[key].score:
                best[key] = entry
        ids = {column.id for column in columns}
        missing = [
            entrant.name
            for entrant, entry in zip(board.entrants, entries, strict=True)
            if entry is None and entrant.source is None and ids & entrant.runs.keys()
        ]
        rows = sorted(best.values(), key=lambda row: (-row.score, row.name))
        if rows:
            titles = [column.title for column in columns]
            found.append(CombinedScores([c.id for c in columns], titles, rows, missing))
    return found


def _triples(board: Board) -> list[list[Column]]:
    """The three tasks' columns, scheme by scheme."""
    schemes: dict[object, dict[str, Column]] = {}
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
    entrant: Entrant, columns: list[Column], facts: Mapping[str, Facts]
) -> Combined | None:
    parts = []
    for column in columns:
        found = entrant.cell(column)
        if found is None or found.mean is None:
            return None
        parts.append(found.mean)
    known = facts.get(entrant.model)
    return Combined(
        name=entrant.name,
        organisation=known.organisation if known else None,
        source=entrant.source,
        parts=parts,
        score=sum(parts) / len(parts),
    )
