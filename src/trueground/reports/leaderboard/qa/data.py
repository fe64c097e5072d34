"""Everything that a leaderboard says about runs of instruct-qa, as one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trueground.reports.leaderboard.board import Board
from trueground.reports.leaderboard.qa.abstention import Abstention, abstention
from trueground.reports.leaderboard.qa.instructions import Instructions, instructions
from trueground.reports.leaderboard.qa.planes import Plane, planes
from trueground.reports.leaderboard.qa.retrievers import Retrievers, retrievers
from trueground.reports.leaderboard.qa.settings import asked


@dataclass(frozen=True)
class Qa:
    """Tables in the order of the page; all are empty where no run is one of instruct-qa.

    `models` are the rows' names with their sources, in the board's order.
    """

    models: list[tuple[str, str | None]]
    planes: list[Plane]
    abstention: list[Abstention]
    retrievers: list[Retrievers]
    instructions: list[Instructions]


def qa(board: Board, folders: Mapping[str, Path]) -> Qa:
    """Compare the runs of the study. `folders` is a run's label → its folder."""
    runs = asked(board, folders)
    return Qa(
        models=list(dict.fromkeys((one.entrant.name, one.entrant.source) for one in runs)),
        planes=planes(runs),
        abstention=abstention(runs),
        retrievers=retrievers(runs),
        instructions=instructions(runs),
    )
