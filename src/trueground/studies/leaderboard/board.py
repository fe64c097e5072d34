"""Runs → the table of values: a column for each task, a row for each model, a cell for each pair.

Page, terminal and JSON show these cells, and the studies of papers are made of them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

import orjson

from trueground.benchmarks import Benchmark, Studies, all_benchmarks
from trueground.components import ResultKey
from trueground.metrics import METRICS
from trueground.runs import WorstOrder
from trueground.studies.leaderboard.model_info import ModelInfo, Models, find_model
from trueground.studies.leaderboard.runs import GROUNDED, BoardCell, Run, prompt_of, same_files
from trueground.text import one_line

LONG = 40  # characters; what is shorter stands as it is
_DIGITS = re.compile(r"\d+")
_CUT = re.compile(r"(?=[:,|\[])")
_CHECKSUM = re.compile(r"[0-9a-f]{32,}")
_HEADLINES = (GROUNDED, *WorstOrder.CANDIDATES)
_CHECKSUM_LENGTH = 12  # characters that names of options show
Identity = tuple[str, str, str]  # of a model: name, signature, source


def find_benchmark(name: str | None) -> Benchmark | None:
    """Return the benchmark of a column. None without one, or if it isn't installed."""
    return None if name is None else all_benchmarks().get(name)


def studies_of(benchmark: str | None) -> Studies:
    """Return the studies that the benchmark declares; none for an unknown benchmark."""
    benchmark_found = find_benchmark(benchmark)
    return Studies() if benchmark_found is None else benchmark_found.studies


@dataclass(frozen=True)
class BoardColumn:
    """One measurement: a task with its options and headline metric, or one metric of `score`.

    `higher_is_better` is None where the metric is not known here. `asked` is the most questions of
    a run to which the metric applies; 0 for `score`, whose runs have questions of their own.
    """

    id: str
    title: str
    benchmark: str | None
    task: str | None
    metric: str
    options: dict[str, Any]
    higher_is_better: bool | None
    asked: int = 0


@dataclass(frozen=True)
class BoardRow:
    """A model (or the folder of a scoring run) with its number and its run in each column.

    `source` names the publication where the numbers are a paper's. `best` lists the columns where
    it ranks first, `apart` why its number in a column cannot be ranked with the others.
    """

    name: str
    model: str
    source: str | None
    cells: dict[str, BoardCell]
    best: list[str]
    facts: ModelInfo | None
    apart: dict[str, str]
    runs: dict[str, Run]


@dataclass(frozen=True)
class Board:
    """The columns, and the rows in order of the first column, best first."""

    columns: list[BoardColumn]
    rows: list[BoardRow]

    def runs(self, column: BoardColumn, *, published: bool) -> list[Run]:
        """The user's own runs in a column, or those of papers."""
        runs = [row.runs[column.id] for row in self.rows if column.id in row.runs]
        return [run for run in runs if (run.source is not None) == published]


def lay_out(runs: Sequence[Run], models: Models) -> Board:
    """Return columns and rows of all runs. A model's second run in a column gets its own row."""
    by_key: dict[_CellKey, list[Run]] = defaultdict(list)
    for run in runs:
        for key in _keys(run):
            by_key[key].append(run)
    ordered = sorted(by_key, key=_order)
    columns = [_column(k, key, by_key) for k, key in enumerate(ordered, 1)]
    runs_of = {c.id: by_key[key] for c, key in zip(columns, ordered, strict=True)}
    apart = {c.id: _apart(c, runs_of[c.id]) for c in columns}
    rows = []
    for name, (model, _, source), runs_by_column in _named(runs_of):
        reasons = {}
        for id_, run in runs_by_column.items():
            if run.label in apart[id_]:
                reasons[id_] = apart[id_][run.label]
        cells = {
            column.id: cell
            for column in columns
            if column.id in runs_by_column
            and (cell := _cell(column, runs_by_column[column.id], column.id in reasons))
        }
        facts = find_model(model, models)
        rows.append(
            BoardRow(name, model, source or None, cells, [], facts, reasons, runs_by_column)
        )
    if columns:
        rows.sort(key=lambda row: (bool(row.apart), *_rank(row, columns[0])))
    for column in columns:
        _mark_best(column, rows)
    return Board(columns, _with_shown_names(rows))


# ---- columns ----


class _CellKey(NamedTuple):
    """What makes a column; options as JSON, so that equal ones are one column."""

    benchmark: str | None
    task: str | None
    metric: str
    options: str

    @property
    def settings(self) -> dict[str, Any]:
        return dict(orjson.loads(self.options))


def _keys(run: Run) -> list[_CellKey]:
    benchmark = run.manifest.benchmark
    if benchmark is None:
        return [_CellKey(None, None, name, "{}") for name in run.summary.metrics]
    model_options = studies_of(benchmark.name).model_options
    settings = {
        name: value for name, value in benchmark.options.items() if name not in model_options
    }
    options = orjson.dumps(settings, option=orjson.OPT_SORT_KEYS).decode()
    return [_CellKey(benchmark.name, benchmark.task, benchmark.headline, options)]


def _order(key: _CellKey) -> tuple[bool, str, int, str, str, str]:
    task = key.task or ""
    tasks = studies_of(key.benchmark).tasks
    rank = tasks.index(task) if task in tasks else len(tasks)
    options = _DIGITS.sub(lambda match: match[0].zfill(12), key.options)  # 512 before 1024
    if key.benchmark is None:  # the headline of a run that scores
        name = ResultKey.parse(key.metric).name
        rank = _HEADLINES.index(name) if name in _HEADLINES else len(_HEADLINES)
    return key.benchmark is None, key.benchmark or "", rank, task, options, key.metric


def _column(number: int, key: _CellKey, by_key: Mapping[_CellKey, Sequence[Run]]) -> BoardColumn:
    most_questions = 0
    if key.benchmark is not None:
        cells = [(run.cell(key.metric), run.manifest.repeats) for run in by_key[key]]
        most_questions = max((cell.due // repeats for cell, repeats in cells if cell), default=0)
    return BoardColumn(
        id=f"c{number}",
        title=_title(key, by_key) if key.benchmark else key.metric,
        benchmark=key.benchmark,
        task=key.task,
        metric=key.metric,
        options=key.settings,
        higher_is_better=key.metric == GROUNDED or METRICS.higher_is_better(key.metric),
        asked=most_questions,
    )


def _title(key: _CellKey, keys: Iterable[_CellKey]) -> str:
    """Return the task with the options in which it differs from others of the same task."""
    alone = len({k.benchmark for k in keys}) == 1
    title = key.task or "" if alone else f"{key.benchmark}/{key.task}"
    same = [k for k in keys if k[:2] == key[:2]]
    studies = studies_of(key.benchmark)
    always_named = {studies.original}
    differing = tell_apart(key.settings, [k.settings for k in same], studies.bound, always_named)
    if any(k.metric != key.metric and k.options == key.options for k in same):
        differing.append(key.metric)
    return title + (f" ({', '.join(differing)})" if differing else "")


def _apart(column: BoardColumn, runs: Sequence[Run]) -> dict[str, str]:
    """Return why runs are not ranked with the others, by label.

    Ranked runs have the most common data and the most questions, because a paper's numbers are
    over all questions.
    """
    user_runs = [run for run in runs if run.source is None]
    papers = [run for run in runs if run.source is not None]
    reasons = {
        run.label: reason
        for name, (value, reason) in studies_of(column.benchmark).unlike_paper.items()
        if user_runs and str(column.options.get(name)) == value
        for run in papers
    }
    if not user_runs:
        return reasons

    def may_be_alike(a: Run, b: Run) -> bool:
        """Return whether the data may be equal: scoring runs, and unknown checksums, may be."""
        unknown = any(None in run.checksums or not run.checksums for run in (a, b))
        return a.manifest.benchmark is None or unknown or same_files(a, b)

    alike = [[b for b in user_runs if may_be_alike(run, b)] for run in user_runs]
    usual = max(alike, key=lambda group: (len(group), max(run.summary.n for run in group)))
    most = max(run.summary.n // run.manifest.repeats for run in usual)
    for run in user_runs:
        n_questions = run.summary.n // run.manifest.repeats
        if run not in usual:
            reasons[run.label] = "over other data (checksum) than the other runs"
        elif n_questions < most:
            reasons[run.label] = f"over {n_questions:,} questions, other runs are over {most:,}"
        elif papers and run.manifest.limit is not None:
            reasons[run.label] = f"over {n_questions:,} questions, published numbers are over all"
    return reasons


# ---- rows ----


def _named(columns: Mapping[str, Sequence[Run]]) -> Iterable[tuple[str, Identity, dict[str, Run]]]:
    """Yield a row for each model, and one more for each further run of it in the same column.

    If a model ran a task with several prompts, each prompt has separate rows.
    """
    several = _several_prompts(columns.values())
    rows: dict[tuple[Identity, str], dict[int, dict[str, Run]]] = {}
    for column, runs in columns.items():
        seen: dict[tuple[Identity, str], int] = defaultdict(int)
        # Whole runs come before limited ones.
        for run in sorted(runs, key=lambda run: (run.manifest.limit is not None, -run.summary.n)):
            identity = _identity(run)
            row_key = identity, prompt_of(run.manifest.prompts) if identity in several else ""
            rows.setdefault(row_key, defaultdict(dict))[seen[row_key]][column] = run
            seen[row_key] += 1
    identities = {identity for identity, _ in rows}
    for (identity, prompt), repeats in rows.items():
        name, signature, source = identity
        shared = sum(other[0] == name and other[2] == source for other in identities) > 1
        base = f"{name} [{signature}]" if shared and signature else name
        base += f", prompt {prompt}" if prompt else ""
        for number, runs_by_column in sorted(repeats.items()):
            yield f"{base} ({number + 1})" if number else base, identity, runs_by_column


def _several_prompts(columns: Iterable[Sequence[Run]]) -> set[Identity]:
    prompts: dict[Any, set[str]] = defaultdict(set)
    for run in chain.from_iterable(columns):
        benchmark = run.manifest.benchmark
        if benchmark is not None and run.source is None:
            in_prompt = studies_of(benchmark.name).in_prompt
            options = {k: v for k, v in benchmark.options.items() if k != in_prompt}
            alike = orjson.dumps(options, option=orjson.OPT_SORT_KEYS)
            request = _identity(run), (benchmark.name, benchmark.task, alike)
            prompts[request].add(prompt_of(run.manifest.prompts))
    return {identity for (identity, _), names in prompts.items() if len(names) > 1}


def _identity(run: Run) -> Identity:
    model = run.manifest.model
    if model is None:
        return run.label, "", run.source or ""
    return model.name, model.signature, run.source or ""


def _cell(column: BoardColumn, run: Run, apart: bool) -> BoardCell | None:
    """The column's headline number, with what it is ranked by if it is over fewer items."""
    cell = run.cell(column.metric)
    if cell is None or cell.mean is None or not cell.scored:
        return cell
    n_requested = max(column.asked * run.manifest.repeats, cell.due)
    if cell.scored >= n_requested:
        return cell
    if apart:
        return replace(cell, asked=n_requested)  # not ranked at all
    share = cell.scored / n_requested
    missing = 1 - share if column.higher_is_better is False else 0.0
    return replace(cell, asked=n_requested, placed_by=share * cell.mean + missing)


def _rank(row: BoardRow, column: BoardColumn) -> tuple[float, str, str]:
    cell = row.cells.get(column.id)
    value = cell.place_value if cell else None
    sign = 1 if column.higher_is_better is False else -1
    return float("inf") if value is None else sign * value, row.name.casefold(), row.name


def _mark_best(column: BoardColumn, rows: Sequence[BoardRow]) -> None:
    """Mark the rows that rank first; none if all values are equal or the direction is unknown.

    Numbers that aren't ranked don't count.
    """
    values = []
    for row in rows:
        cell = row.cells.get(column.id)
        value = cell.place_value if cell else None
        if value is not None and column.id not in row.apart:
            values.append((value, row))
    distinct = {value for value, _ in values}
    if len(distinct) < 2 or column.higher_is_better is None:
        return
    best = max(distinct) if column.higher_is_better else min(distinct)
    for value, row in values:
        if value == best:
            row.best.append(column.id)


def _with_shown_names(rows: Sequence[BoardRow]) -> list[BoardRow]:
    """Return rows with names on one line of at most 60 characters, still distinct."""
    taken: set[tuple[str, str | None]] = set()
    renamed = []
    for row in rows:
        name = base = one_line(row.name, 60)
        number = 1
        while (name, row.source) in taken:
            number += 1
            name = f"{base} ({number})"
        taken.add((name, row.source))
        renamed.append(replace(row, name=name))
    return renamed


# ---- names of options ----


def tell_apart(
    options: Mapping[str, Any],
    alike: Sequence[Mapping[str, Any]],
    bound: Set[str],
    always_named: Set[str] = frozenset(),
) -> list[str]:
    """Return `name=value` of the set options that differ from those of similar columns.

    Args:
        bound: Options that mean nothing if unset: only a random position has a seed.
        always_named: Options to name even if they don't differ.
    """
    parts = []
    for name, value in sorted(options.items()):
        others = [other.get(name) for other in alike]
        differs = any(o != value for o in others if o is not None or name not in bound)
        if value not in (None, False, "", "off") and (differs or name in always_named):
            short = "on" if value is True else short_names(map(str, others))[str(value)]
            parts.append(f"{name}={short}")
    return parts


def short_names(values: Iterable[str]) -> dict[str, str]:
    """Return a distinct start of each value, up to a `:`, `,`, `|` or `[`.

    Values of up to 40 characters stay whole. Checksums are cut.
    """
    distinct = set(values)
    names = {}
    for value in distinct:
        cuts = [m.start() for m in _CUT.finditer(value) if m.start()]
        starts = [
            value[:cut] for cut in ([_CHECKSUM_LENGTH] if _CHECKSUM.fullmatch(value) else cuts)
        ]
        alone = (s for s in starts if not any(v.startswith(s) for v in distinct - {value}))
        names[value] = value if len(value) <= LONG else next(alone, value)
    return names
