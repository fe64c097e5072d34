"""The whole leaderboard as one value: JSON holds it, page and terminal show it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from trueground.errors import OutputError, UsageError
from trueground.files import OutputPath
from trueground.reports import Page
from trueground.runs import RunFiles, Summary
from trueground.studies.leaderboard.board import Board, BoardColumn, BoardRow, lay_out, studies_of
from trueground.studies.leaderboard.declared import study_tables
from trueground.studies.leaderboard.elsewhere import (
    beside_published,
    no_match,
    outside_scores,
    paper_ranks,
    paper_runs,
)
from trueground.studies.leaderboard.model_info import load_models
from trueground.studies.leaderboard.page import LEADERBOARD_MARK, leaderboard_page
from trueground.studies.leaderboard.results import study_warnings
from trueground.studies.leaderboard.runs import DATASET, MetricEntry, Run, label_runs, read_runs
from trueground.studies.wording import join_alike
from trueground.text import few

Json = dict[str, Any]
_Of = Callable[[Run, BoardColumn], str]
_ROW = ("name", "model", "source", "cells", "best")
_FACTS = ("family", "base", "size", "training", "organization", "open")
# What must be equal in a column, as a run tells it.
_SIGNATURE: dict[str, _Of] = {
    "metric signature": lambda run, column: run.manifest.metrics.get(column.metric, "")
}
_COMPARED: dict[str, _Of] = {
    "data (sha256)": lambda run, _: run.short_checksums(),
    "prompt (sha256)": lambda run, _: ", ".join(
        sorted(f"{prompt.id} {prompt.sha256[:12]}" for prompt in run.manifest.prompts)
    ),
    **_SIGNATURE,
    "parameters": lambda run, _: ", ".join(
        f"{name} {value}" for name, value in sorted(run.manifest.params.items())
    ),
    "limit": lambda r, _: "none" if r.manifest.limit is None else str(r.manifest.limit),
    "answers to each question": lambda run, _: str(run.manifest.repeats),
    "datasets averaged over": lambda run, column: str(
        found.values if (found := run.average(column.metric)) else "none"
    ),
}
# Scoring runs have files of answers of their own.
_COMPARED_SCORES: dict[str, _Of] = {
    **_SIGNATURE,
    "number of answers": lambda run, _: f"{run.summary.n:,}",
}


@dataclass(frozen=True)
class Leaderboard:
    """Runs, compared.

    Attributes:
        raw: Every table of the page in full precision, as plain values ready for JSON.
        prompts: Studies of runs that differ in nothing but their prompts.
        folders: The directory of each run, by its label.
    """

    raw: Json
    prompts: Sequence[Mapping[str, Any]]
    folders: Mapping[str, Path]

    @classmethod
    def of(cls, runs: Sequence[Path], **options: Any) -> Leaderboard:
        """Compare runs; arguments and errors are those of `leaderboard_data`."""
        from trueground.studies.prompts import in_order, prompt_studies

        raw = leaderboard_data(runs, **options)
        folders, _ = RunFiles.find_folders(runs)
        return cls(raw, prompt_studies(in_order(folders)), dict(label_runs(folders)))

    @staticmethod
    def check_runs(runs: Sequence[Path]) -> None:
        """Raise InputError if one of the runs can't be read or isn't finished."""
        read_runs(runs)

    @staticmethod
    def check_out(out: Path) -> Path:
        """Return the page in `out`, FILE.html or a folder; only a leaderboard is ever replaced.

        Raises UsageError, OutputError.
        """
        return OutputPath(out).find_page(LEADERBOARD_MARK)

    @staticmethod
    def is_page(path: Path) -> bool:
        """Whether the file is an earlier leaderboard; a sweep writes one beside its runs."""
        try:
            OutputPath(path).check_page(LEADERBOARD_MARK, overwrite=True)
        except (OutputError, UsageError):
            return False
        return path.is_file()

    def page(self, links: Mapping[Path, str] | None = None) -> Page:
        """The page as blocks. `links` lead to the pages of runs, by their directories."""
        links_by_path = links or {}
        hrefs = {
            label: links_by_path[path]
            for label, path in self.folders.items()
            if path in links_by_path
        }
        return leaderboard_page(self.raw, self.prompts, hrefs)

    def write(self, out: Path) -> Path:
        """Write the page, and return its path. Raises UsageError, OutputError, WriteError."""
        path = self.check_out(out)
        OutputPath(path).make_parent()
        self.page().write(path)
        return path


def leaderboard_data(
    runs: Sequence[Path],
    *,
    with_published: bool = False,
    models: Path | None = None,
    baseline: str | None = None,
    outside: Path | None = None,
) -> Json:
    """Compare runs: every table of the page in full precision, as plain values ready for JSON.

    `runs` are run directories or folders that hold some, at most two levels deep, in any order;
    `models` is a file that adds to the models table; `baseline` names the model against which those
    of Truly-Ground are set; `outside` is a CSV file of the models' scores elsewhere. `notices` →
    the labels of the runs. Raises InputError for folders that hold no finished run and for a file
    that is no such table, UsageError where nothing published is comparable or no model has the
    baseline's name.
    """
    runs_read = read_runs(runs)
    models_by_name = load_models(models)
    board = lay_out(runs_read, models_by_name)
    if with_published:
        board = lay_out([*runs_read, *paper_runs(board.columns)], models_by_name)
    elsewhere = None if outside is None else outside_scores(board, outside, models_by_name)
    unmatched = [] if elsewhere is None or elsewhere["scores"] else [no_match(elsewhere)]
    studies = study_tables(board, baseline)
    notices: dict[str, list[str]] = {}
    for run in runs_read:
        for notice in run.manifest.benchmark.notices if run.manifest.benchmark else ():
            notices.setdefault(notice, []).append(run.label)
    data = {
        "columns": board.columns,
        "rows": [
            {
                **{name: getattr(row, name) for name in _ROW},
                "facts": row.facts and {name: getattr(row.facts, name) for name in _FACTS},
                "apart": row.apart,
            }
            for row in board.rows
        ],
        "studies": studies,
        "paper_ranks": paper_ranks(board.columns) if with_published else [],
        **{
            # Parts are the datasets of a run, or what else a benchmark tells apart (Truly-Ground's
            # factors, as in its Tables 8 to 11).
            name: [split for c in board.columns if (split := _split(board, c, name == "datasets"))]
            for name in ("datasets", "factors")
        },
        "outside": elsewhere,
        "runs": _run_facts(board),
        "notices": notices,
        "warnings": [*_warnings(board), *study_warnings(studies), *unmatched],
    }
    return dict(msgspec.json.decode(msgspec.json.encode(data)))


def write_leaderboard(
    runs: Sequence[Path],
    out: Path,
    *,
    with_published: bool = False,
    models: Path | None = None,
    baseline: str | None = None,
    outside: Path | None = None,
    prompts: Sequence[Mapping[str, Any]] = (),
) -> Path:
    """Compare runs on one page and return its path. The same runs give the same bytes.

    Arguments and errors are those of `leaderboard_data`; `prompts` are studies of runs that differ
    in their prompts. `out` is FILE.html or a folder. Raises OutputError, WriteError.
    """
    Leaderboard.check_out(out)
    board = leaderboard_data(
        runs, with_published=with_published, models=models, baseline=baseline, outside=outside
    )
    return Leaderboard(board, prompts, {}).write(out)


def _split(board: Board, column: BoardColumn, of_datasets: bool) -> Json | None:
    """The column's means and counts over parts of the items, and over all of them."""
    rows: list[tuple[BoardRow, dict[tuple[str, str], MetricEntry]]] = []
    for row in board.rows:
        run = row.runs.get(column.id)
        by = run.summary.by if run and run.manifest.benchmark else {}
        parts = {
            (field, value): metrics[column.metric]
            for field, values in by.items()
            if (field == DATASET) is of_datasets and field != Summary.REPEAT_FIELD
            for value, metrics in values.items()
            if column.metric in metrics
        }
        rows += [(row, parts)] if parts else []
    names = sorted({part for _, parts in rows for part in parts}, key=lambda names_of_part: (
        names_of_part[0], names_of_part[1].casefold()))  # fmt: skip
    return {
        "column": column.id,
        "title": column.title,
        "parts": [v if of_datasets else f"{f.removeprefix('meta.')}: {v}" for f, v in names],
        "rows": [
            {
                "name": row.name,
                "source": row.source,
                "means": [parts.get(name, MetricEntry()).mean for name in names],
                "counts": [parts.get(name, MetricEntry()).scored for name in names],
                "average": cell.mean if (cell := row.cells.get(column.id)) else None,
            }
            for row, parts in rows
        ],
    } if rows else None  # fmt: skip


def _run_facts(board: Board) -> list[Json]:
    """Return every run of the board once, in the order of the rows, from its manifest."""
    facts: dict[str, Json] = {}
    for row in board.rows:
        for column in board.columns:
            run = row.runs.get(column.id)
            if run is not None and run.source is None and run.label not in facts:
                facts[run.label] = _facts(run, row.name, column.title)
    return list(facts.values())


def _facts(run: Run, name: str, task: str) -> Json:
    manifest, benchmark = run.manifest, run.manifest.benchmark
    tokens = manifest.tokens if benchmark else None
    metric = benchmark.headline if benchmark else None
    return {
        "run": run.label,
        "name": name,
        "task": task if benchmark else None,
        "n": run.summary.n,
        "options": run.options,
        "params": manifest.params,
        "prompts": [(prompt.id, prompt.sha256) for prompt in manifest.prompts],
        "outcomes": manifest.outcomes,
        "usd": manifest.cost.usd if manifest.cost else None,
        "tokens_in": tokens.tokens_in if tokens else None,
        "tokens_out": tokens.tokens_out if tokens else None,
        "tokens_cached": tokens.cached if tokens else None,
        "limit": manifest.limit,
        "repeats": manifest.repeats,
        "seed": manifest.seed,
        "version": manifest.trueground,
        "metric": metric,
        "signature": manifest.metrics.get(metric) if metric else None,
    }


# ---- where runs that share a column differ in how they were made ----


def _warnings(board: Board) -> list[str]:
    differing: list[tuple[str, str]] = []
    for column in board.columns:
        compared = _COMPARED_SCORES
        if column.benchmark is not None:
            alike = studies_of(column.benchmark).alike
            paper_comparisons = {message: partial(_of_options, of) for message, of in alike.items()}
            compared = paper_comparisons | _COMPARED
        for setting, value in compared.items():
            groups: dict[str, list[str]] = defaultdict(list)
            for run in board.runs(column, published=False):
                groups[value(run, column)].append(run.label)
            values = [f"{text or 'none'} in {few(ls)}" for text, ls in sorted(groups.items())]
            if len(values) > 1:
                message = f"the runs differ in {setting}: {'; '.join(values)}."
                differing.append((message, column.title))
    repeats = (
        (message, column_.title)
        for column_ in board.columns
        for message in _run_again(board, column_)
    )
    differ, repeated = (
        [f"{names}: {message}" for message, names in join_alike(values)]
        for values in (differing, repeats)
    )
    return [*differ, *beside_published(board), *repeated]


def _of_options(of: Callable[[Mapping[str, Any]], str], run: Run, _: BoardColumn) -> str:
    return of(run.options)


def _run_again(board: Board, column: BoardColumn) -> list[str]:
    """A model that was run more than once in a column: its rows, told apart by a number."""
    runs: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in board.rows:
        run = row.runs.get(column.id)
        if run is not None and run.source is None and run.manifest.model is not None:
            runs[row.model, run.manifest.model.signature].append(run.label)
    return [
        f"{model} was run {len(labels)} times ({', '.join(labels)}); each run has its own row."
        for (model, _), labels in runs.items()
        if len(labels) > 1
    ]
