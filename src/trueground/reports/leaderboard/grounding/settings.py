"""Which columns of a board are versions of Truly-Ground, and which of them belong together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from trueground.plugins import bare_name, split_key
from trueground.reports.leaderboard.board import Board, BoardCell, BoardColumn, Entrant, cell

BENCHMARK = "truly-ground"
VERSIONS = ("original-gold", "original-dist", "conflict-gold", "conflict-dist")
# Distractors, distractors, conflict, conflict (section 4.2; Figure 5).
PAIRS = (
    ("original-gold", "original-dist"),
    ("conflict-gold", "conflict-dist"),
    ("original-gold", "conflict-gold"),
    ("original-dist", "conflict-dist"),
)
STRICT, PRECISION, RECALL = "grounding_f1", "grounding_precision", "grounding_recall"
ACCURACY, ENTAILS = "answer_accuracy", "context_entails"
MEASURES = (STRICT, PRECISION, RECALL, ACCURACY)
BUDGET, POSITION, SEED = "budget", "gold-position", "position-seed"
# What only the versions with distractors have; the gold versions do not depend on it.
DISTRACTORS = {
    BUDGET, POSITION, SEED, "distractors", "retriever", "top", "input-cap",
}  # fmt: skip
_PREFERRED = ("scope=gold", "match=substring")


@dataclass(frozen=True)
class Group:
    """The versions that were asked alike; `title` says how they differ from other groups."""

    title: str
    columns: dict[str, BoardColumn]

    def has(self, means: Mapping[str, float | None]) -> bool:
        """Whether a model with these means belongs here: it saw these distractors, if any."""
        dist = [task for task in self.columns if task.endswith("-dist")]
        return any(means[task] is not None for task in dist or self.columns)


def versions(board: Board) -> list[BoardColumn]:
    """The columns of the four versions."""
    return [c for c in board.columns if c.benchmark == BENCHMARK and c.task in VERSIONS]


def groups(board: Board) -> list[Group]:
    """A group for each setting of the distractors, with the gold versions that belong to it."""
    columns = versions(board)
    dist = [c for c in columns if c.task and c.task.endswith("-dist")]
    keys = _unique([_key(c, c.options.keys()) for c in dist])
    found = []
    for key in keys:
        own = {str(c.task): c for c in dist if _key(c, c.options.keys()) == key}
        first = next(iter(own.values()))
        gold = [c for c in columns if c not in dist and _belongs(c, first)]
        own = {**{str(c.task): c for c in reversed(gold)}, **own}
        found.append((first, own))
    told = differing([first.options for first, _ in found]) - {SEED}
    named = [Group(_title(first, told), _ordered(own)) for first, own in found]
    taken = {c.id for group in named for c in group.columns.values()}
    rest = [c for c in columns if c.id not in taken]
    for column in rest:
        same = [c for c in rest if _plain(c) == _plain(column)]
        if same[0] is column:
            named.append(Group("", _ordered({str(c.task): c for c in reversed(same)})))
    return named


def differing(options: Sequence[Mapping[str, Any]]) -> set[str]:
    """The options whose values are not the same in all."""
    names = {name for each in options for name in each}
    return {name for name in names if len({orjson.dumps(each.get(name)) for each in options}) > 1}


def metric_key(board: Board, column: BoardColumn, name: str) -> str | None:
    """How the column's runs spell a metric: its options and judge as in the headline."""
    keys = {
        key
        for entrant in board.entrants
        if (run := entrant.runs.get(column.id)) is not None
        for key in run.summary.metrics
        if bare_name(key) == name
    }
    judge = split_key(column.metric).judge

    def order(key: str) -> tuple[bool, bool, bool, str]:
        of = split_key(key).judge
        return (
            key != column.metric,
            of not in ("", judge),
            not any(w in key for w in _PREFERRED),
            key,
        )

    return min(keys, key=order, default=None)


def cells(board: Board, column: BoardColumn, key: str | None) -> dict[str, BoardCell]:
    """Entrant (`who`) → its cell of one metric in one column, where it has a mean."""
    found = {}
    for entrant in board.entrants:
        run = entrant.runs.get(column.id)
        own = cell(run, key) if run is not None and key is not None else None
        if own is not None and own.mean is not None:
            found[who(entrant)] = own
    return found


def part(entrant: Entrant, column: BoardColumn, key: str, field: str, value: str) -> float | None:
    """The mean of one metric over one part of the items, as summary.json has it under `by`."""
    run = entrant.runs.get(column.id)
    entry = run.summary.by.get(field, {}).get(value, {}).get(key) if run is not None else None
    return entry.mean if entry else None


def who(entrant: Entrant) -> str:
    """Tells the rows of a board apart: a paper may have the same model."""
    return f"{entrant.name}\n{entrant.source or ''}"


def once(entrants: Sequence[Entrant]) -> list[Entrant]:
    """One row for each model (and paper): a repeated run is no further model."""
    first: dict[tuple[str, str | None], Entrant] = {}
    for entrant in sorted(entrants, key=lambda e: (len(e.name), e.name)):
        first.setdefault((entrant.model, entrant.source), entrant)
    return [e for e in entrants if first.get((e.model, e.source)) is e]


def _belongs(gold: BoardColumn, dist: BoardColumn) -> bool:
    """Whether the two differ in the distractors only."""
    if _judge(gold) != _judge(dist):
        return False
    shared = (gold.options.keys() & dist.options.keys()) - DISTRACTORS
    return all(gold.options[name] == dist.options[name] for name in shared)


def _judge(column: BoardColumn) -> str:
    return split_key(column.metric).judge


def _key(column: BoardColumn, names: Iterable[str]) -> bytes:
    options = {name: column.options.get(name) for name in names}
    return _judge(column).encode() + orjson.dumps(options, option=orjson.OPT_SORT_KEYS)


def _plain(column: BoardColumn) -> bytes:
    return _key(column, column.options.keys() - DISTRACTORS)


def _title(column: BoardColumn, told: set[str]) -> str:
    return ", ".join(f"{name}={column.options.get(name)}" for name in sorted(told))


def _ordered(columns: Mapping[str, BoardColumn]) -> dict[str, BoardColumn]:
    return {task: columns[task] for task in VERSIONS if task in columns}


def _unique(keys: Sequence[bytes]) -> list[bytes]:
    return list(dict.fromkeys(keys))
