"""Which runs of a board are of instruct-qa, how each was asked, and which belong together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import orjson

from trueground.plugins import bare_name
from trueground.reports.leaderboard.board import Board, BoardCell, BoardColumn, Entrant, cell
from trueground.reports.leaderboard.grounding.settings import differing
from trueground.reports.leaderboard.runs import Run
from trueground.reports.leaderboard.short import short_names

BENCHMARK = "instruct-qa"
RETRIEVED, GOLD, IRRELEVANT = "retrieved", "gold", "irrelevant"
_TASKS = ("nq", "hotpotqa", "topiocqa")
_SETTINGS = (RETRIEVED, GOLD, IRRELEVANT, "closed-book")
INSTRUCTIONS = ("v1", "v2")
RECALL, K_PRECISION, P_IR, P_G = "recall", "k_precision", "p_ir", "p_g"
_PASSAGE = "abstention_passage=true"
SETTING, INSTRUCTION, RETRIEVER = "setting", "instruction", "retriever"
# What says how the passages were found; without a retriever it is not there.
RETRIEVAL = {RETRIEVER, "passages", "corpus", "irrelevant-rank", "gold-needed"}

Key = tuple[str, ...]
_T = TypeVar("_T")


@dataclass(frozen=True)
class StudyRun:
    """One run of the study, in its row of the board; `folder` is None where it is a paper's."""

    entrant: Entrant
    column: BoardColumn
    run: Run
    folder: Path | None = None

    @property
    def task(self) -> str:
        """The dataset."""
        return self.column.task or ""

    def option(self, name: str) -> str:
        """An option as text; empty where it is not set."""
        value = self.column.options.get(name)
        return "" if value is None else str(value)

    def rest(self, *names: str) -> dict[str, Any]:
        """The options without those of these names."""
        return {name: value for name, value in self.column.options.items() if name not in names}

    def cell(self, metric: str | None) -> BoardCell | None:
        """The run's mean of a metric; None where it has none."""
        found = None if metric is None else cell(self.run, metric)
        return None if found is None or found.mean is None else found


def asked(board: Board, folders: Mapping[str, Path]) -> list[StudyRun]:
    """Every run of the study, published ones among them, in the order of rows and columns.

    `folders` is a run's label → its folder.
    """
    return [
        StudyRun(entrant, column, run, None if run.source else folders.get(run.label))
        for entrant in board.entrants
        for column in board.columns
        if column.benchmark == BENCHMARK and (run := entrant.runs.get(column.id)) is not None
    ]


def tables(
    runs: Iterable[StudyRun],
    make: Callable[[list[StudyRun], str], _T | None],
    *,
    over: Sequence[str] = (),
    told: Sequence[str],
) -> list[_T]:
    """What `make` makes of each group of runs and its title, where it makes anything.

    A group's runs differ in nothing but the model and the options `over`; `told` are the options
    that a table tells anyway, so that no title does.
    """
    groups = _grouped(runs, over)
    named = zip(groups, _titles(groups, told), strict=True)
    return [table for group, title in named if (table := make(group, title)) is not None]


def _grouped(runs: Iterable[StudyRun], without: Sequence[str]) -> list[list[StudyRun]]:
    found: dict[tuple[str, bytes], list[StudyRun]] = {}
    for one in runs:
        rest = orjson.dumps(one.rest(*without), option=orjson.OPT_SORT_KEYS)
        found.setdefault((one.task, rest), []).append(one)
    return sorted(found.values(), key=lambda group: _order(group[0]))


def _order(one: StudyRun) -> tuple[Any, ...]:
    setting = one.option(SETTING)
    rest = orjson.dumps(one.rest(SETTING), option=orjson.OPT_SORT_KEYS)
    return _place(one.task, _TASKS), _place(setting, _SETTINGS), one.option(INSTRUCTION), rest


def _place(value: str, known: Sequence[str]) -> tuple[int, str]:
    return (known.index(value) if value in known else len(known)), value


def _titles(groups: Sequence[Sequence[StudyRun]], told: Sequence[str]) -> list[str]:
    """For each group the options, other than `told`, by which it differs from its like."""
    likes: dict[Key, list[Mapping[str, Any]]] = {}
    for group in groups:
        likes.setdefault(_like(group[0], told), []).append(group[0].rest(*told))
    found = []
    for group in groups:
        others = likes[_like(group[0], told)]
        own = group[0].column.options
        named = []
        for name in sorted(differing(others)):
            if own.get(name):
                short = short_names(str(other.get(name)) for other in others)
                named.append(f"{name}={short[str(own[name])]}")
        found.append(", ".join(named))
    return found


def _like(one: StudyRun, told: Sequence[str]) -> Key:
    return (one.task, *(one.option(name) for name in told))


def metric_key(runs: Iterable[StudyRun], name: str) -> str | None:
    """How the runs spell a metric; where it differs, as plainly as it goes.

    Instruction v2 asks for "I don't know", which then counts as a passage (appendix C).
    """
    runs = list(runs)
    keys = {key for one in runs for key in one.run.summary.metrics if bare_name(key) == name}
    passage = name == K_PRECISION and {one.option(INSTRUCTION) for one in runs} == {"v2"}

    def order(key: str) -> tuple[bool, bool, int, str]:
        return (_PASSAGE in key) != passage, "@" in key, len(key), key

    return min(keys, key=order, default=None)


def by_entrant(runs: Iterable[StudyRun]) -> list[list[StudyRun]]:
    """The runs row by row of the board."""
    found: dict[int, list[StudyRun]] = {}
    for one in runs:
        found.setdefault(id(one.entrant), []).append(one)
    return list(found.values())
