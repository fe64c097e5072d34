"""Everything that a leaderboard says about runs of KaLMA, as one value."""

from __future__ import annotations

from dataclasses import dataclass

from trueground.reports.leaderboard.board import Board
from trueground.reports.leaderboard.graphs.quality import (
    ModelPairs,
    Quality,
    general_and_specific,
    qualities,
)
from trueground.reports.leaderboard.graphs.settings import TEMPERATURE, asked
from trueground.reports.leaderboard.graphs.studies import Study, marks, removals, replacements
from trueground.reports.leaderboard.grounding.sweeps import Sweep, sets_over, sweep_over

_RANKING = ("citation_f1_micro", "citation_correctness_micro")


@dataclass(frozen=True)
class GraphTables:
    """Tables in the order of the page; all are empty where no run is one of KaLMA."""

    qualities: list[Quality]
    removals: list[Study]
    marks: list[Study]
    replacements: list[Study]
    temperatures: list[Sweep]
    pairs: list[ModelPairs]


def graphs(board: Board) -> GraphTables:
    """Compare the runs of the studies."""
    return GraphTables(
        qualities=qualities(board),
        removals=removals(board),
        marks=marks(board),
        replacements=replacements(board),
        temperatures=_temperatures(board),
        pairs=general_and_specific(board),
    )


def _temperatures(board: Board) -> list[Sweep]:
    """F1 over temperature; correctness where there is no minimum set, and so no F1."""
    found = []
    for columns, title in sets_over(asked(board), TEMPERATURE):
        sweeps = (sweep_over(board, columns, TEMPERATURE, name, title) for name in _RANKING)
        found += [sweep for sweep in sweeps if sweep is not None][:1]
    return found
