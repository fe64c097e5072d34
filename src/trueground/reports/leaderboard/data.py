"""The whole leaderboard as one value: what the page draws, the terminal prints and JSON holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from trueground.reports.leaderboard.board import (
    Board,
    BoardCell,
    BoardColumn,
    Entrant,
    lay_out,
)
from trueground.reports.leaderboard.names import ModelFacts, facts_of
from trueground.reports.leaderboard.outside import Outside, no_match, outside_scores
from trueground.reports.leaderboard.papers import PaperRanks, paper_ranks, paper_runs
from trueground.reports.leaderboard.provenance import RunFacts, run_facts, warnings
from trueground.reports.leaderboard.results import StudyTable, study_warnings
from trueground.reports.leaderboard.runs import Run, find_runs, read_runs
from trueground.reports.leaderboard.studies import study_tables
from trueground.reports.terminal import shown_name

_FEWER = (
    "† over fewer items than were asked: ranked not by this mean, but with 0 (1 where lower is "
    "better) for each item that is missing."
)


@dataclass(frozen=True)
class BoardRow:
    """A model's line; `source` is set where the numbers are a paper's. `best` lists column ids.

    `apart` is column id → why the number there is not ranked with the others.
    """

    name: str
    model: str
    source: str | None
    cells: dict[str, BoardCell]
    best: list[str]
    facts: ModelFacts | None
    apart: dict[str, str]


@dataclass(frozen=True)
class DatasetRow:
    """One model's mean in each dataset, None where it has none, and its average over them."""

    name: str
    source: str | None
    means: list[float | None]
    counts: list[int | None]
    average: float | None


@dataclass(frozen=True)
class Datasets:
    """One column, split by dataset."""

    column: str
    title: str
    datasets: list[str]
    rows: list[DatasetRow]


@dataclass(frozen=True)
class Leaderboard:
    """Every table of the page, full precision. Columns are named by their ids.

    `notices` are what every page of a run must say → the labels of the runs.
    """

    columns: list[BoardColumn]
    rows: list[BoardRow]
    studies: list[StudyTable]
    paper_ranks: list[PaperRanks]
    datasets: list[Datasets]
    outside: Outside | None
    runs: list[RunFacts]
    notices: dict[str, list[str]]
    warnings: list[str]

    @property
    def fewer(self) -> str:
        """What the mark † beside a mean says; empty where there is none."""
        cells = [cell for row in self.rows for cell in row.cells.values()]
        return _FEWER if any(cell.placed_by is not None for cell in cells) else ""


def leaderboard(
    runs: Sequence[Path],
    *,
    with_published: bool = False,
    models: Path | None = None,
    baseline: str | None = None,
    outside: Path | None = None,
) -> Leaderboard:
    """Compare runs. The order of `runs` does not matter.

    `runs` are run directories or folders that hold some, at most two levels deep; `models` is a
    file that adds to the models table; `baseline` names the model against which those of
    Truly-Ground are set; `outside` is a CSV file of the models' scores elsewhere. Raises InputError
    for folders that hold no finished run and for a file that is no such table, UsageError where
    nothing published is comparable or no model has the baseline's name.
    """
    found = read_runs(runs)
    board = lay_out(found)
    if with_published:
        board = lay_out([*found, *paper_runs(board)])
    board = _with_shown_names(board)
    facts = facts_of({entrant.model for entrant in board.entrants}, models)
    elsewhere = None if outside is None else outside_scores(board, outside, models)
    unmatched = [] if elsewhere is None or elsewhere.scores else [no_match(elsewhere)]
    studies = study_tables(board, facts, _folders(runs, found), baseline)
    return Leaderboard(
        columns=board.columns,
        rows=_rows(board, facts),
        studies=studies,
        paper_ranks=paper_ranks(board) if with_published else [],
        datasets=_by_dataset(board),
        outside=elsewhere,
        runs=run_facts(board),
        notices=_notices(found),
        warnings=[*warnings(board), *study_warnings(studies), *unmatched],
    )


def leaderboard_data(
    runs: Sequence[Path],
    *,
    with_published: bool = False,
    models: Path | None = None,
    baseline: str | None = None,
    outside: Path | None = None,
) -> dict[str, Any]:
    """`leaderboard` as plain dictionaries and lists, ready for JSON."""
    found = leaderboard(
        runs, with_published=with_published, models=models, baseline=baseline, outside=outside
    )
    return dict(msgspec.json.decode(msgspec.json.encode(found)))


def _notices(runs: Sequence[Run]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for run in runs:
        for notice in run.manifest.benchmark.notices if run.manifest.benchmark else ():
            found.setdefault(notice, []).append(run.label)
    return found


def _folders(paths: Sequence[Path], runs: Sequence[Run]) -> dict[str, Path]:
    """Label → folder; a label is that end of a folder's path which no other folder has."""
    folders = [(folder.resolve().parts, folder) for folder in find_runs(paths)[0]]
    ends = {run.label: Path(run.label).parts for run in runs}
    return {
        label: folder
        for label, end in ends.items()
        for parts, folder in folders
        if parts[-len(end) :] == end
    }


def _with_shown_names(board: Board) -> Board:
    """Every name on one line and of a bearable length, different ones still different."""
    taken: set[tuple[str, str | None]] = set()
    entrants = []
    for entrant in board.entrants:
        name = base = shown_name(entrant.name)
        number = 1
        while (name, entrant.source) in taken:
            number += 1
            name = f"{base} ({number})"
        taken.add((name, entrant.source))
        entrants.append(replace(entrant, name=name))
    return replace(board, entrants=entrants)


def _rows(board: Board, facts: dict[str, ModelFacts]) -> list[BoardRow]:
    cells = [
        {column.id: cell for column in board.columns if (cell := entrant.cell(column))}
        for entrant in board.entrants
    ]
    best = {column.id: _best(column, board.entrants) for column in board.columns}
    return [
        BoardRow(
            name=entrant.name,
            model=entrant.model,
            source=entrant.source,
            cells=own,
            best=[key for key in own if entrant in best[key]],
            facts=facts.get(entrant.model),
            apart=entrant.apart,
        )
        for entrant, own in zip(board.entrants, cells, strict=True)
    ]


def _best(column: BoardColumn, entrants: Sequence[Entrant]) -> list[Entrant]:
    """Those who rank first in a column; none where all are the same, or without a direction.

    Numbers that stand apart take no part.
    """
    means = {
        at: cell.place_value
        for at, entrant in enumerate(entrants)
        if (cell := entrant.cell(column)) and cell.place_value is not None
        if column.id not in entrant.apart
    }
    if len(set(means.values())) < 2 or column.higher_is_better is None:
        return []
    best = max(means.values()) if column.higher_is_better else min(means.values())
    return [entrants[at] for at, mean in means.items() if mean == best]


def _by_dataset(board: Board) -> list[Datasets]:
    """The split of each column whose runs have one."""
    found = []
    for column in board.columns:
        entrants = [e for e in board.entrants if _split(e, column)]
        names = {name for e in entrants for name in _split(e, column)}
        datasets = sorted(names, key=str.casefold)
        if datasets:
            rows = [_dataset_row(entrant, column, datasets) for entrant in entrants]
            found.append(Datasets(column.id, column.title, datasets, rows))
    return found


def _split(entrant: Entrant, column: BoardColumn) -> dict[str, tuple[float | None, int | None]]:
    """Dataset → mean and number scored of the column's metric."""
    run = entrant.runs.get(column.id)
    values = run.datasets() if run else {}
    return {
        name: (metrics[column.metric].mean, metrics[column.metric].scored)
        for name, metrics in values.items()
        if column.metric in metrics
    }


def _dataset_row(entrant: Entrant, column: BoardColumn, datasets: list[str]) -> DatasetRow:
    split = _split(entrant, column)
    pairs = [split.get(name, (None, None)) for name in datasets]
    shown = entrant.cell(column)
    return DatasetRow(
        entrant.name,
        entrant.source,
        [mean for mean, _ in pairs],
        [count for _, count in pairs],
        shown.mean if shown else None,
    )
