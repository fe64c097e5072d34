"""The earlier definitions of grounding beside the strict one (sections 3.1 and 4.2)."""

from __future__ import annotations

from dataclasses import dataclass

from trueground.reports.leaderboard.board import Board, BoardColumn, Entrant
from trueground.reports.leaderboard.grounding.settings import (
    ACCURACY,
    ENTAILS,
    STRICT,
    cells,
    metric_key,
    once,
    versions,
    who,
)
from trueground.stats.correlation import Correlation, correlation


@dataclass(frozen=True)
class Coefficients:
    """Pearson's and Spearman's coefficient over models; a paper's models stand apart."""

    source: str | None
    pearson: Correlation
    spearman: Correlation


@dataclass(frozen=True)
class DefinitionRow:
    """One model by the earlier definition and by the strict one."""

    name: str
    source: str | None
    earlier: float
    strict: float


@dataclass(frozen=True)
class Definition:
    """One earlier definition in one column. `metrics` are the earlier metric and the strict one."""

    column: str
    title: str
    measure: str
    metrics: tuple[str, str]
    rows: list[DefinitionRow]
    over_models: list[Coefficients]


def definitions(board: Board) -> list[Definition]:
    """Answer accuracy and context_entails against grounding F1, version by version."""
    found = []
    for column in versions(board):
        for measure in (ACCURACY, ENTAILS):
            definition = _definition(board, column, measure)
            if definition is not None:
                found.append(definition)
    return found


def _definition(board: Board, column: BoardColumn, measure: str) -> Definition | None:
    earlier, strict = (metric_key(board, column, name) for name in (measure, STRICT))
    if earlier is None or strict is None:
        return None
    a, b = cells(board, column, earlier), cells(board, column, strict)
    shown = [e for e in board.entrants if who(e) in a and who(e) in b]
    pairs = {who(e): (a[who(e)].mean or 0.0, b[who(e)].mean or 0.0) for e in shown}
    rows = [DefinitionRow(e.name, e.source, *pairs[who(e)]) for e in shown]
    if not rows:
        return None
    over = over_models(shown, pairs)
    return Definition(column.id, column.title, measure, (earlier, strict), rows, over)


def over_models(
    entrants: list[Entrant], pairs: dict[str, tuple[float, float]]
) -> list[Coefficients]:
    """The correlations of (first, second) over models, own ones and each paper's by themselves."""
    sources = sorted({e.source for e in entrants}, key=lambda source: source or "")
    found = []
    for source in sources:
        own = [pairs[who(e)] for e in once([e for e in entrants if e.source == source])]
        x, y = [a for a, _ in own], [b for _, b in own]
        found.append(Coefficients(source, correlation(x, y), correlation(x, y, ranked=True)))
    return found
