"""Score and reduction against model size, by single and multi context (Figures 3a and 17)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trueground.reports.leaderboard.board import Board, BoardColumn, Entrant
from trueground.reports.leaderboard.facts import ModelFacts
from trueground.reports.leaderboard.grounding.settings import (
    PAIRS,
    STRICT,
    Group,
    cells,
    metric_key,
    part,
    who,
)
from trueground.reports.leaderboard.grounding.versions import rate_of

FIELD = "meta.contexts"
ALL = "all"
PARTS = (ALL, "single", "multi")
# "7b", "0.5B", "llama2:70b-chat"; not "8x7b", whose size is no product, and not "fp16b1".
_NAMED = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)b(?![a-z0-9])", re.IGNORECASE)


@dataclass(frozen=True)
class SizedRow:
    """One model: size in billions, where it was found, and a value for each part of the items."""

    name: str
    source: str | None
    size: float
    told_by: str
    values: dict[str, float | None]


@dataclass(frozen=True)
class BySize:
    """Scores in one version, or the share lost between two; `unknown` are models without a size."""

    kind: str
    title: str
    metric: str
    versions: list[str]
    rows: list[SizedRow]
    unknown: list[str]


def by_size(board: Board, groups: Sequence[Group], facts: Mapping[str, ModelFacts]) -> list[BySize]:
    """A table for each version, and for each of a group's two steps to distractors."""
    found, done = [], set()
    for group in groups:
        for task, column in group.columns.items():
            if column.id not in done:
                done.add(column.id)
                found.append(_scores(board, column, task, group.title, facts))
        for before, after in PAIRS[:2]:
            if before in group.columns and after in group.columns:
                found.append(_reductions(board, group, before, after, facts))
    return [table for table in found if table.rows]


def size_of(name: str, facts: ModelFacts | None) -> tuple[float, str] | None:
    """Billions of parameters and who says so: the models table, else the name ("…-7b-…")."""
    if facts is not None and facts.size:
        return facts.size, "models table"
    sizes = [float(size) for size in _NAMED.findall(name.rpartition("/")[2])]
    return (sizes[0], "name") if len(sizes) == 1 and sizes[0] > 0 else None


def _scores(
    board: Board, column: BoardColumn, task: str, settings: str, facts: Mapping[str, ModelFacts]
) -> BySize:
    key = metric_key(board, column, STRICT) or STRICT
    values = _values(board, column, key)
    title = task if task.endswith("-gold") else _joined(task, settings)
    return _table(board, "score", title, key, [task], values, facts)


def _reductions(
    board: Board, group: Group, before: str, after: str, facts: Mapping[str, ModelFacts]
) -> BySize:
    columns = group.columns[before], group.columns[after]
    keys = [metric_key(board, column, STRICT) or STRICT for column in columns]
    a, b = (_values(board, c, key) for c, key in zip(columns, keys, strict=True))
    rates = {
        name: {p: rate_of(a[name][p], b[name][p]) for p in PARTS} for name in a.keys() & b.keys()
    }
    title = _joined(f"{before} → {after}", group.title)
    return _table(board, "reduction", title, keys[0], [before, after], rates, facts)


def _values(board: Board, column: BoardColumn, key: str) -> dict[str, dict[str, float | None]]:
    """Entrant → part of the items → mean."""
    whole = cells(board, column, key)
    return {
        who(e): {
            p: whole[who(e)].mean if p == ALL else part(e, column, key, FIELD, p) for p in PARTS
        }
        for e in board.entrants
        if who(e) in whole
    }


def _table(
    board: Board,
    kind: str,
    title: str,
    metric: str,
    versions: list[str],
    values: Mapping[str, dict[str, float | None]],
    facts: Mapping[str, ModelFacts],
) -> BySize:
    shown = [e for e in board.entrants if who(e) in values]
    sized = [(e, size) for e in shown if (size := size_of(e.model, facts.get(e.model)))]
    sized.sort(key=lambda pair: (pair[1][0], pair[0].name.casefold(), pair[0].source or ""))
    rows = [_row(e, size, values[who(e)]) for e, size in sized]
    unknown = [e.name for e in shown if not size_of(e.model, facts.get(e.model))]
    return BySize(kind, title, metric, versions, rows, unknown)


def _row(entrant: Entrant, size: tuple[float, str], values: dict[str, float | None]) -> SizedRow:
    return SizedRow(entrant.name, entrant.source, *size, values)


def _joined(title: str, settings: str) -> str:
    return f"{title} ({settings})" if settings else title
