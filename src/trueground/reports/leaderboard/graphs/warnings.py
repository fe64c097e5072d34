"""Why KaLMA's printed numbers cannot simply be set beside the runs, in words."""

from __future__ import annotations

from trueground.reports.leaderboard.board import Board
from trueground.reports.leaderboard.graphs.settings import MINIMUM, SYNTHETIC, asked
from trueground.reports.leaderboard.provenance import few


def warnings(board: Board) -> list[str]:
    """Columns whose minimum sets were drawn by chance, beside a paper's."""
    drawn = [
        column
        for column in asked(board)
        if column.options.get(MINIMUM) == SYNTHETIC
        and any(e.source for e in board.entrants if column.id in e.runs)
    ]
    if not drawn:
        return []
    return [
        f"{few([column.title for column in drawn])}: the published precision, recall and F1 "
        "rest on the paper's minimum knowledge sets, those of the runs on sets drawn by chance. "
        "Only correctness and alignment compare."
    ]
