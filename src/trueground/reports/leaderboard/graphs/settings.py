"""Which columns of a board are KaLMA's, and what is told of them: measures in the paper's order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from trueground.reports.leaderboard.board import Board, BoardCell, BoardColumn, Entrant
from trueground.reports.leaderboard.grounding.settings import cells, metric_key, who

BENCHMARK = "kalma"
GENERAL, SPECIFIC = "general", "specific"
REMOVE, ACCURACY, TEMPERATURE = "remove", "retrieval-accuracy", "at-temperature"
MINIMUM, SYNTHETIC = "minimum", "synthetic"
# Table 5, Figures 4 and 5: micro values.
CITED = {
    "citation_correctness_micro": "correctness",
    "citation_precision_micro": "precision",
    "citation_recall_micro": "recall",
    "citation_f1_micro": "F1",
}
MISSING = {
    "na_precision_micro": "[NA] precision",
    "na_recall_micro": "[NA] recall",
    "na_f1_micro": "[NA] F1",
}
MACRO = {
    "citation_precision": "precision, macro",
    "citation_recall": "recall, macro",
    "citation_f1": "F1, macro",
}
TEXT = {
    "coherence": "coherence",
    "consistency": "consistency",
    "fluency": "fluency",
    "relevance": "relevance",
}
ALIGNMENT = {"alignment_micro": "alignment"}


def asked(board: Board) -> list[BoardColumn]:
    """The columns of KaLMA."""
    return [c for c in board.columns if c.benchmark == BENCHMARK]


def sets_by_chance(column: BoardColumn) -> bool:
    """Whether precision, recall and F1 rest on minimum sets that nobody but us has."""
    return column.benchmark == BENCHMARK and column.options.get(MINIMUM) == SYNTHETIC


class Grid:
    """The cells of some columns, each measure looked up once."""

    def __init__(
        self, board: Board, columns: Iterable[BoardColumn], measures: Iterable[str]
    ) -> None:
        names = list(measures)
        self._cells: dict[tuple[str, str], Mapping[str, BoardCell]] = {
            (column.id, name): _cells(board, column, name) for column in columns for name in names
        }

    def cell(self, entrant: Entrant, column: BoardColumn, measure: str) -> BoardCell | None:
        """What this model has there, where it has a mean."""
        return self._cells[column.id, measure].get(who(entrant))


def _cells(board: Board, column: BoardColumn, measure: str) -> dict[str, BoardCell]:
    """Runs may spell a measure in different ways, a paper in its own."""
    found: dict[str, BoardCell] = {}
    for published in (False, True):
        part = Board([column], [e for e in board.entrants if (e.source is not None) == published])
        found |= cells(part, column, metric_key(part, column, measure))
    return found
