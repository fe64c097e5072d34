"""Everything that a leaderboard says about runs of Truly-Ground, as one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trueground.reports.leaderboard.board import Board
from trueground.reports.leaderboard.facts import ModelFacts
from trueground.reports.leaderboard.grounding.definitions import Definition, definitions
from trueground.reports.leaderboard.grounding.settings import groups
from trueground.reports.leaderboard.grounding.sizes import BySize, by_size
from trueground.reports.leaderboard.grounding.sweeps import Sweep, sweeps
from trueground.reports.leaderboard.grounding.versions import (
    Degradation,
    VersionTable,
    degradation,
    version_tables,
)


@dataclass(frozen=True)
class Grounding:
    """Tables in the order of the page; all are empty where no run is one of Truly-Ground."""

    versions: list[VersionTable]
    degradation: list[Degradation]
    sizes: list[BySize]
    definitions: list[Definition]
    sweeps: list[Sweep]


def grounding(board: Board, facts: Mapping[str, ModelFacts], baseline: str | None) -> Grounding:
    """Compare the versions. Raises UsageError where `baseline` names no model of these runs."""
    alike = groups(board)
    return Grounding(
        versions=version_tables(board, alike),
        degradation=degradation(board, alike, baseline) if baseline is not None else [],
        sizes=by_size(board, alike, facts),
        definitions=definitions(board),
        sweeps=sweeps(board),
    )
