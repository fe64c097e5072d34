"""Two numbers of one model beside each other: original and new context, strict and loose match."""

from __future__ import annotations

from dataclasses import dataclass

from trueground.plugins import bare_name
from trueground.reports.leaderboard.board import (
    ORIGINAL,
    Board,
    BoardCell,
    BoardColumn,
    Entrant,
    cell,
)
from trueground.stats.correlation import rank_differences

# Options of the original task that say which context was shown, not how the model was asked.
_CONTEXT_OPTIONS = {"of", "documents", "closed-book", "task-instruction", "original"}
STRICT, LOOSE, WORD = "phrase_match_strict", "phrase_match", "phrase_match_word"


@dataclass(frozen=True)
class RankChange:
    """A model's means on the original and on the new context; rank 1 is the best, ties share it.

    `rank_difference` is the original rank minus the new one: below 0, the model lost places.
    `fewer` tells of each of the two whether it is over fewer items, and ranked by `Cell.placed_by`.
    """

    name: str
    source: str | None
    original: float
    new: float
    difference: float
    rank_original: int
    rank_new: int
    rank_difference: int
    fewer: tuple[bool, bool] = (False, False)


@dataclass(frozen=True)
class Changes:
    """Two columns, compared over the models that stand in both."""

    original: str
    new: str
    titles: tuple[str, str]
    rows: list[RankChange]


@dataclass(frozen=True)
class MatchRules:
    """One model by three rules of matching; None where a rule was not computed."""

    name: str
    source: str | None
    strict: float | None
    loose: float | None
    word: float | None


@dataclass(frozen=True)
class Matches:
    """The three rules in one column."""

    column: str
    title: str
    rows: list[MatchRules]


def context_changes(board: Board) -> list[Changes]:
    """Every `original` column with each column of the task that it is the original of."""
    found = []
    for original in (c for c in board.columns if c.task == ORIGINAL):
        for new in (c for c in board.columns if _belongs(original, c)):
            rows = _changes(board, original, new)
            if rows:
                titles = (original.title, new.title)
                found.append(Changes(original.id, new.id, titles, rows))
    return found


def _belongs(original: BoardColumn, new: BoardColumn) -> bool:
    """Whether the two differ in the context only."""
    if (new.benchmark, new.task) != (original.benchmark, original.options.get("of")):
        return False
    a, b = original.options, new.options
    return all(a[name] == b[name] for name in (a.keys() & b.keys()) - _CONTEXT_OPTIONS)


def _changes(board: Board, original: BoardColumn, new: BoardColumn) -> list[RankChange]:
    found: dict[str, tuple[Entrant, BoardCell, BoardCell]] = {}
    for entrant in board.entrants:
        before, after = entrant.cell(original), entrant.cell(new)
        if before and after and before.mean is not None and after.mean is not None:
            key = f"{entrant.name}\n{entrant.source or ''}"  # a paper may have the same model
            found[key] = (entrant, before, after)
    rows = []
    for r in rank_differences(
        {key: before.place_value or 0.0 for key, (_, before, _) in found.items()},
        {key: after.place_value or 0.0 for key, (_, _, after) in found.items()},
    ):
        assert r.rank_a and r.rank_b and r.difference is not None  # noqa: PT018 - both are there
        entrant, before, after = found[r.name]
        a, b = before.mean or 0.0, after.mean or 0.0
        fewer = (before.placed_by is not None, after.placed_by is not None)
        ranks = (r.rank_a, r.rank_b, r.difference)
        rows.append(RankChange(entrant.name, entrant.source, a, b, b - a, *ranks, fewer))
    return rows


def match_rules(board: Board) -> list[Matches]:
    """Strict, non-strict and word-boundary matching, for each column that has more than one."""
    found = []
    for column in board.columns:
        if column.benchmark is None:
            continue
        rows = [_match(entrant, column) for entrant in board.entrants]
        shown = [r for r in rows if r and (r.strict, r.loose, r.word).count(None) < 2]
        if shown:
            found.append(Matches(column.id, column.title, shown))
    return found


def _match(entrant: Entrant, column: BoardColumn) -> MatchRules | None:
    run = entrant.runs.get(column.id)
    if run is None:
        return None
    means: dict[str, float | None] = {}
    # Where reasons are scored too, the headline is of the answer: all three rules of it.
    answers = "read=answer" in column.metric
    for name in run.summary.metrics:
        if ("read=answer" in name) == answers:
            value = cell(run, name)
            means[bare_name(name)] = value.mean if value else None
    return MatchRules(
        entrant.name, entrant.source, means.get(STRICT), means.get(LOOSE), means.get(WORD)
    )
