"""Numbers from elsewhere: those of papers, as runs in the same columns, and a file of scores."""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from trueground.benchmarks import PaperJudge, PublishedTable, all_benchmarks
from trueground.components import ResultKey
from trueground.errors import InputError, UsageError
from trueground.metrics import METRICS
from trueground.runs import Manifest, RunBenchmark, UsedComponent
from trueground.studies.leaderboard.board import Board, BoardColumn, find_benchmark, studies_of
from trueground.studies.leaderboard.model_info import Models, find_model
from trueground.studies.leaderboard.results import over_models
from trueground.studies.leaderboard.runs import DATASET, MetricEntry, Run, RunSummary
from trueground.text import few

_EXAMPLE = "a head line such as `model,MMLU,RULES` and a line such as `my-model,63.1,41.5`"
_MISSING = {"", "-", "–", "na", "n/a", "null", "none"}


Table = dict[str, tuple[str, dict[str, float]]]  # key of a model → its name and scores


def paper_runs(columns: Sequence[BoardColumn]) -> list[Run]:
    """The published models of every column with which the paper's numbers can be compared.

    What is comparable each benchmark says (`Studies.comparable`). Raises UsageError where there is
    nothing.
    """
    runs = [run for column in columns for run in _column_runs(column)]
    if not runs:
        titles = ", ".join(column.title for column in columns) or "none"
        printed = [b.studies.printed for b in all_benchmarks().values()]
        raise UsageError(
            "--with-published: no published number belongs to these runs. "
            f"{', '.join(filter(None, printed))}; the runs here are: {titles}. Leave the option "
            "out."
        )
    return runs


def paper_ranks(columns: Sequence[BoardColumn]) -> list[dict[str, Any]]:
    """The printed ranks of every task that stands on the board beside its original."""
    tasks = {(c.benchmark, c.task) for c in columns}
    originals = {(c.benchmark, c.options.get(studies_of(c.benchmark).original)) for c in columns}
    rankings = []
    for benchmark, task in dict.fromkeys((c.benchmark, c.task) for c in columns):
        for table in _tables(benchmark) if (benchmark, task) in tasks & originals else ():
            ranks = sorted((r for r in table.ranks if r.task == task), key=lambda r: r.original)
            rows = [
                {"name": r.model, "original": r.original, "new": r.new, "difference": r.difference}
                for r in ranks
            ]
            if rows:
                where = {"source": table.source, "place": table.place, "task": task}
                rankings.append({**where, "rows": rows})
    return rankings


def _tables(benchmark: str | None) -> Sequence[PublishedTable]:
    benchmark_found = find_benchmark(benchmark)
    return benchmark_found.published if benchmark_found else ()


def _column_runs(column: BoardColumn) -> list[Run]:
    """One run for each model: of the first table that has it, with other metrics of later ones."""
    studies, headline = studies_of(column.benchmark), _key(column, column.metric)
    run_of: dict[str, Run] = {}
    tables = []
    for table in _tables(column.benchmark):
        by_model = table.scores_by_model(column.task, partial(_is_comparable, column))
        tables.append((table.place, by_model))
        for model, scores in by_model.items():
            if studies.any_metric or any(_key(column, s.metric) == headline for s in scores):
                run_of.setdefault(model, _run(column, table, model))
    for place, by_model in tables:
        for model, run in run_of.items():
            others = {
                score.metric: MetricEntry(mean=score.value, sd=score.sd)
                for score in by_model.get(model, ())
                if (score.dataset, score.by) == (None, {})
                and score.metric not in run.summary.metrics
            }
            if others and place not in (run.place or ""):
                run.summary.metrics.update(others)
                run_of[model] = replace(run, place=f"{run.place}; {place}")
    return list(run_of.values())


def _run(column: BoardColumn, table: PublishedTable, model: str) -> Run:
    """A paper's numbers of one model, of all items, of datasets, or of other parts."""
    summary = RunSummary(metrics={})
    datasets: dict[str, dict[str, MetricEntry]] = {}
    scores = table.scores_by_model(column.task, partial(_is_comparable, column))
    for score in scores[model]:
        where = summary.metrics
        if score.dataset is not None:
            where = datasets.setdefault(score.dataset, {})
        elif score.by:
            ((field, value),) = score.by.items()
            where = summary.by.setdefault(field, {}).setdefault(value, {})
        where[score.metric] = MetricEntry(mean=score.value, sd=score.sd)
        if _key(column, score.metric) == _key(column, column.metric):
            where[column.metric] = where[score.metric]
    if datasets:
        summary.by[DATASET] = datasets
        summary.averages[DATASET] = {
            name: MetricEntry(
                mean=entry.mean, values=sum(name in split for split in datasets.values())
            )
            for name, entry in summary.metrics.items()
        }
    part = RunBenchmark(
        name=column.benchmark or "",
        task=column.task or "",
        headline=column.metric,
        options=dict(column.options),
    )
    manifest = Manifest(trueground="", kind="run", benchmark=part, model=UsedComponent(model))
    return Run(f"published {model}", manifest, summary, source=table.source, place=table.place)


def _is_comparable(column: BoardColumn, printed: Mapping[str, Any]) -> bool:
    """Whether printed numbers with these options can be compared with the runs of a column."""
    studies = studies_of(column.benchmark)
    return studies.comparable(column.task or "", column.options, printed)


def _key(column: BoardColumn, metric: str) -> str:
    """The canonical spelling of a metric, without the judge and without options to be ignored."""
    metric = ResultKey.parse(metric).spec
    try:
        spec = METRICS.parse(metric)
    except UsageError:
        return metric
    ignored = studies_of(column.benchmark).ignored
    kept = {name: value for name, value in spec.options.items() if name not in ignored}
    return spec.with_options(kept).key


def beside_published(board: Board) -> list[str]:
    """Why published numbers cannot simply be set beside the runs in the same column.

    Runs over a part of the task; verdicts or ratings of other models; code that is not the paper's.
    """
    judged: dict[PaperJudge, tuple[list[str], dict[str, list[str]]]] = {}
    coded: dict[str, list[str]] = defaultdict(list)
    titles, cut = [], []
    for column in board.columns:
        user_runs, papers = (board.runs(column, published=is_paper) for is_paper in (False, True))
        if not user_runs or not papers:
            continue
        if limited := [run.label for run in user_runs if run.manifest.limit is not None]:
            titles.append(column.title)
            cut += limited
        studies = studies_of(column.benchmark)
        for judge in studies.judges:
            judged_otherwise = [
                run
                for run in user_runs
                if _has(judge, run)
                and judge.model not in getattr(getattr(run.manifest, judge.part), "signature", "")
            ]
            if judged_otherwise and any(_has(judge, run) for run in papers):
                named, others = judged.setdefault(judge, ([], defaultdict(list)))
                named.append(column.title)
                for run in judged_otherwise:
                    used = getattr(run.manifest, judge.part)
                    component = f"no {judge.part} that the manifest names"
                    if used:
                        component = used.name
                    others[component].append(run.label)
        code = studies.code
        if code and column.metric.startswith(code.metric) and code.lacking not in column.metric:
            coded[code.reason].append(column.title)
    warnings = []
    if cut:
        warnings.append(
            f"{few(titles)}: {few(cut)} ran with a limit; the published numbers are over the whole "
            "task."
        )
    for judge, (named, others) in judged.items():
        used_by = [f"{few(labels)} by {name}" for name, labels in sorted(others.items())]
        warnings.append(
            f"{few(named)}: the published {judge.description} by {judge.model}, the runs "
            f"otherwise: {'; '.join(used_by)}. Two {judge.part}s are two scales."
        )
    return warnings + [f"{few(named)}: {reason}" for reason, named in coded.items()]


def _has(judge: PaperJudge, run: Run) -> bool:
    return any(
        ResultKey.parse(key).name.removesuffix("_micro") in judge.metrics
        for key in run.summary.metrics
    )


# ---- scores of the same models (MMLU, RULES …) in a CSV file ----


def outside_scores(board: Board, file: Path, models: Models) -> dict[str, Any]:
    """Every score of the file against every column that has one of its models, as plain values.

    `unmatched` are its models without a run, `missing` the runs' models that it lacks. Models are
    matched by name in any case, and by the names that the models table knows. Raises InputError
    where the file is no such table.
    """
    scores, table = _read(file, models)
    keys = [(_model_key(row.model, models), row) for row in board.rows]
    present = {key for key, _ in keys}
    results = []
    for score in scores:
        for column in board.columns:
            matches = [
                (row, table[key][1][score], cell.mean)
                for key, row in keys
                if key in table and score in table[key][1]
                if (cell := row.cells.get(column.id)) is not None and cell.mean is not None
            ]
            if matches:
                results.append({
                    "score": score,
                    "column": column.id,
                    "title": column.title,
                    "metric": column.metric,
                    "rows": [
                        {"name": row.name, "source": row.source, "outside": x, "mean": y}
                        for row, x, y in matches
                    ],
                    "over_models": over_models(
                        (row, row.apart.get(column.id), x, y) for row, x, y in matches
                    ),
                })  # fmt: skip
    return {
        "file": file.name,
        "scores": results,
        "unmatched": [name for key, (name, _) in table.items() if key not in present],
        "missing": [row.name for key, row in keys if row.source is None and key not in table],
    }


def no_match(outside: Mapping[str, Any]) -> str:
    """The warning for a file that says nothing of these runs."""
    named = ", ".join(outside["unmatched"][:3]) or "no model with a score"
    here = ", ".join(outside["missing"][:3]) or "none"
    file = outside["file"]
    return f"{file}: none of its models ({named}) has a run here; the runs are of {here}."


def _model_key(name: str, models: Models) -> str:
    """One key for all names of a model."""
    info = find_model(name, models)
    return info.name if info else name.strip().removeprefix("hf:").rpartition("/")[2].casefold()


def _read(file: Path, models: Models) -> tuple[list[str], Table]:
    lines = _lines(file)
    head = [name.strip() for _, row in lines[:1] for name in row]
    good = all(head) and len(set(head)) == len(head)
    if len(head) < 2 or head[0].casefold() != "model" or not good:
        raise InputError(
            f"{file}, line 1: found {', '.join(head) or 'nothing'}; expected `model` and then the "
            f"names of scores, each once, commas between. Write {_EXAMPLE}."
        )
    table: Table = {}
    for number, row in lines[1:]:
        location = f"{file}, line {number}"
        if len(row) != len(head):
            raise InputError(
                f"{location}: found {len(row)} cells, expected {len(head)} as in the head line. "
                "Fix the line; an unknown score is an empty cell."
            )
        name = row[0].strip()
        if not name or not name.isprintable():
            raise InputError(f"{location}: found {row[0]!r}, expected the name of a model")
        key = _model_key(name, models)
        if key in table:
            raise InputError(
                f"{location}: {name!r} is the same model as {table[key][0]!r} above. Leave one out."
            )
        cells = zip(head[1:], row[1:], strict=True)
        values = {score: _number(location, score, cell.strip()) for score, cell in cells}
        table[key] = name, {score: value for score, value in values.items() if value is not None}
    if not table:
        raise InputError(f"{file}: found no model below the head line. Write {_EXAMPLE}.")
    return head[1:], table


def _lines(file: Path) -> list[tuple[int, list[str]]]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream)
            return [(reader.line_num, row) for row in reader if any(c.strip() for c in row)]
    except OSError as error:
        raise InputError(
            f"{file}: cannot be read ({error.strerror or error}). --outside names a CSV file: "
            f"{_EXAMPLE}."
        ) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{file}: no CSV in UTF-8 ({error}). Write {_EXAMPLE}.") from error


def _number(location: str, column: str, text: str) -> float | None:
    if text.casefold() in _MISSING:
        return None
    with suppress(ValueError):
        if math.isfinite(value := float(text)):
            return value
    raise InputError(
        f"{location}, column {column}: found {text!r}, expected a number. Fix the cell, or leave "
        "it empty if the score is unknown."
    )
