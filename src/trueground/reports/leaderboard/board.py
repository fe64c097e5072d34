"""Runs → a table: a column for each task, a row for each model, a cell for each pair."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from trueground.benchmarks.registry import all_benchmarks
from trueground.benchmarks.studies import Studies
from trueground.metrics.registry import higher_is_better
from trueground.reports.leaderboard.names import prompt_of, short_names
from trueground.reports.leaderboard.runs import MetricEntry, Run
from trueground.types import Status

_DIGITS = re.compile(r"\d+")
# Statuses that the question has, whatever the answer.
_NOT_ASKED = (Status.NOT_APPLICABLE, Status.MISSING_FIELD)


def studies_of(benchmark: str | None) -> Studies:
    """What the benchmark declares of its paper; nothing for an unknown one."""
    known = all_benchmarks()
    return known[benchmark].studies() if benchmark in known else Studies()


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
class BoardCell:
    """A value; `averaged_over` is set where it is an unweighted mean over that many datasets.

    `run` is the run's label, or `place` says where a paper has printed the number. `sd` is the
    standard deviation over `repeats` answers to each question; a paper need not say over how many.

    Where the mean is over fewer items than were asked of it, or of another run in the column,
    `asked` is how many it should be over, and `placed_by` the mean with 0 for those that are
    missing (1 where lower is better), by which it is ranked: what a model leaves out, or declines,
    must not lift it above others.
    """

    mean: float | None
    ci: tuple[float, float] | None = None
    ci_level: float | None = None
    n: int | None = None
    scored: int | None = None
    unscored: dict[str, int] = field(default_factory=dict)
    averaged_over: int | None = None
    run: str | None = None
    place: str | None = None
    sd: float | None = None
    repeats: int | None = None
    asked: int | None = None
    placed_by: float | None = None

    @property
    def place_value(self) -> float | None:
        """What the cell is ranked by."""
        return self.mean if self.placed_by is None else self.placed_by


@dataclass(frozen=True)
class Entrant:
    """A row: a model (or the folder of a scoring run) with its run in each column.

    `source` names the publication where the numbers are a paper's. `apart` is why its number in a
    column cannot be ranked with the others: it is over other data, or over other items.
    """

    name: str
    model: str
    source: str | None
    runs: dict[str, Run]
    apart: dict[str, str] = field(default_factory=dict)

    def cell(self, column: BoardColumn) -> BoardCell | None:
        """The column's headline number for this model."""
        run = self.runs.get(column.id)
        found = None if run is None else cell(run, column.metric)
        if run is None or found is None or found.mean is None or not found.scored:
            return found
        asked = max(column.asked * run.manifest.repeats, _asked(found))
        if found.scored >= asked:
            return found
        if column.id in self.apart:
            return replace(found, asked=asked)  # not ranked at all
        share = found.scored / asked
        missing = 1 - share if column.higher_is_better is False else 0.0
        return replace(found, asked=asked, placed_by=share * found.mean + missing)


@dataclass(frozen=True)
class Board:
    """The columns, and the rows in order of the first column, best first."""

    columns: list[BoardColumn]
    entrants: list[Entrant]


def cell(run: Run, metric: str) -> BoardCell | None:
    """The average over datasets where there is one, else the mean over items; None for neither."""
    whole, average = run.entry(metric), run.average(metric)
    shown = average or whole
    if shown is None:
        return None
    counts = whole or MetricEntry()
    sd, repeats = run.spread(metric)
    return BoardCell(
        mean=shown.mean,
        ci=shown.ci,
        ci_level=shown.ci_level or counts.ci_level,
        n=counts.n,
        scored=counts.scored,
        unscored={reason: count for reason, count in counts.unscored.items() if count},
        averaged_over=average.values if average else None,
        run=None if run.source else run.label,
        place=run.place,
        sd=sd,
        repeats=repeats,
    )


def lay_out(runs: Sequence[Run]) -> Board:
    """Columns and rows of all runs. A model's second run in a column opens a second row."""
    keys: dict[_RowKey, list[Run]] = defaultdict(list)
    for run in runs:
        for key in _keys(run):
            keys[key].append(run)
    ordered = sorted(keys, key=_order)
    columns = [
        replace(_column(number, key, keys), asked=_most_asked(key, keys[key]))
        for number, key in enumerate(ordered, 1)
    ]
    found = {c.id: keys[key] for c, key in zip(columns, ordered, strict=True)}
    why = {c.id: _apart(c, found[c.id]) for c in columns}
    entrants = [
        replace(e, apart={
            key: why[key][run.label] for key, run in e.runs.items() if run.label in why[key]
        })
        for e in _entrants(found)
    ]  # fmt: skip
    if columns:
        first = columns[0]
        entrants.sort(
            key=lambda e: (bool(e.apart), _rank_value(e, first), e.name.casefold(), e.name)
        )
    return Board(columns, entrants)


def _apart(column: BoardColumn, runs: Sequence[Run]) -> dict[str, str]:
    """Label → why a run is not ranked with the others: those are over the commonest data, and over
    the most questions, as a paper's numbers are over all.
    """
    own = [run for run in runs if run.source is None]
    papers = [run for run in runs if run.source is not None]
    found = {
        run.label: why
        for name, (value, why) in studies_of(column.benchmark).unlike_paper.items()
        if own and str(column.options.get(name)) == value
        for run in papers
    }
    if not own:
        return found
    alike = [[other for other in own if _may_be_alike(run, other)] for run in own]
    usual = max(alike, key=lambda group: (len(group), max(run.summary.n for run in group)))
    most = max(run.summary.n // run.manifest.repeats for run in usual)
    for run in own:
        asked = run.summary.n // run.manifest.repeats
        if run not in usual:
            found[run.label] = "over other data (checksum) than the other runs"
        elif asked < most:
            found[run.label] = f"over {asked:,} questions, other runs are over {most:,}"
        elif papers and run.manifest.limit is not None:
            found[run.label] = f"over {asked:,} questions, published numbers are over all"
    return found


def same_files(one: Run, other: Run) -> bool:
    """Whether an id means the same question in both: one read the other's files, perhaps more."""
    a, b = ({file.sha256 for file in run.manifest.input} for run in (one, other))
    return None not in a | b and bool(a & b) and (a <= b or b <= a)


def _may_be_alike(one: Run, other: Run) -> bool:
    """Scoring runs have files of answers of their own, and a checksum may not be known."""
    checksums = [[file.sha256 for file in run.manifest.input] for run in (one, other)]
    unknown = any(None in known or not known for known in checksums)
    return one.manifest.benchmark is None or unknown or same_files(one, other)


@dataclass(frozen=True)
class _RowKey:
    benchmark: str | None
    task: str | None
    metric: str
    options: str  # JSON, so that equal options are one column

    @property
    def settings(self) -> dict[str, Any]:
        return dict(orjson.loads(self.options))


def _keys(run: Run) -> list[_RowKey]:
    """The columns in which a run stands."""
    benchmark = run.manifest.benchmark
    if benchmark is None:
        return [_RowKey(None, None, name, "{}") for name in run.summary.metrics]
    own = studies_of(benchmark.name).own
    asked = {name: value for name, value in benchmark.options.items() if name not in own}
    options = orjson.dumps(asked, option=orjson.OPT_SORT_KEYS).decode()
    return [_RowKey(benchmark.name, benchmark.task, benchmark.headline, options)]


def _order(key: _RowKey) -> tuple[bool, str, int, str, str, str]:
    task = key.task or ""
    known = studies_of(key.benchmark).tasks
    place = known.index(task) if task in known else len(known)
    options = _DIGITS.sub(lambda found: found[0].zfill(12), key.options)  # 512 before 1024
    return key.benchmark is None, key.benchmark or "", place, task, options, key.metric


def _column(number: int, key: _RowKey, keys: Iterable[_RowKey]) -> BoardColumn:
    settings = key.settings
    if key.benchmark is None:
        title = key.metric
    else:
        alone = len({k.benchmark for k in keys}) == 1
        title = key.task or "" if alone else f"{key.benchmark}/{key.task}"
        same = [k for k in keys if (k.benchmark, k.task) == (key.benchmark, key.task)]
        named = [
            f"{name}={'on' if value is True else _shown(name, value, same)}"
            for name, value in sorted(settings.items())
            if value not in (None, False, "", "off")
            and (
                name == "of"
                or any(k.settings.get(name) != value for k in same if _may_differ(name, k))
            )
        ]
        if any(k.metric != key.metric and k.options == key.options for k in same):
            named.append(key.metric)
        title += f" ({', '.join(named)})" if named else ""
    return BoardColumn(
        id=f"c{number}",
        title=title,
        benchmark=key.benchmark,
        task=key.task,
        metric=key.metric,
        options=settings,
        higher_is_better=higher_is_better(key.metric),
    )


def _most_asked(key: _RowKey, runs: Sequence[Run]) -> int:
    """The most questions of a run to which the metric applies, each counted once."""
    if key.benchmark is None:
        return 0
    asked = [(cell(run, key.metric), run.manifest.repeats) for run in runs]
    return max((_asked(found) // repeats for found, repeats in asked if found), default=0)


def _asked(found: BoardCell) -> int:
    """How many answers the mean should be over: all but those that the metric is not about."""
    return (found.n or 0) - sum(found.unscored.get(status, 0) for status in _NOT_ASKED)


def _shown(name: str, value: object, keys: Iterable[_RowKey]) -> str:
    others = {str(key.settings[name]) for key in keys if name in key.settings}
    return short_names({str(value), *others})[str(value)]


def _may_differ(name: str, key: _RowKey) -> bool:
    """Only a random position has a seed, only retrieved passages a retriever: no more is said."""
    bound = studies_of(key.benchmark).bound
    return name not in bound or key.settings.get(name) is not None


def _entrants(columns: dict[str, list[Run]]) -> list[Entrant]:
    """Rows: one for each model, and one more for each further run of it in the same column.

    Where a model was asked one thing with several prompts, each prompt has rows of its own.
    """
    several = _several_prompts(columns.values())
    rows: dict[tuple[str, str, str, str], dict[int, dict[str, Run]]] = {}
    for column, runs in columns.items():
        seen: dict[tuple[str, str, str, str], int] = defaultdict(int)
        # Whole runs come before limited ones.
        for run in sorted(runs, key=lambda run: (run.manifest.limit is not None, -run.summary.n)):
            identity = _identity(run)
            who = (*identity, prompt_of(run.manifest.prompts) if identity in several else "")
            rows.setdefault(who, defaultdict(dict))[seen[who]][column] = run
            seen[who] += 1
    names = {(name, signature, source) for name, signature, source, _ in rows}
    entrants = []
    for (name, signature, source, prompt), repeats in rows.items():
        shared = sum(one[0] == name and one[2] == source for one in names) > 1
        base = f"{name} [{signature}]" if shared and signature else name
        base += f", prompt {prompt}" if prompt else ""
        for number, found in sorted(repeats.items()):
            shown = f"{base} ({number + 1})" if number else base
            entrants.append(Entrant(shown, name, source or None, found))
    return entrants


def _several_prompts(columns: Iterable[Sequence[Run]]) -> set[tuple[str, str, str]]:
    """The models that were asked one thing with several prompts."""
    prompts: dict[Any, set[str]] = defaultdict(set)
    for run in (run for runs in columns for run in runs):
        if (told := run.manifest.benchmark) is not None and run.source is None:
            in_prompt = studies_of(told.name).in_prompt
            options = {k: v for k, v in told.options.items() if k != in_prompt}
            alike = orjson.dumps(options, option=orjson.OPT_SORT_KEYS)
            asked = _identity(run), (told.name, told.task, alike)
            prompts[asked].add(prompt_of(run.manifest.prompts))
    return {who for (who, _), names in prompts.items() if len(names) > 1}


def _identity(run: Run) -> tuple[str, str, str]:
    model = run.manifest.model
    if model is None:
        return run.label, "", run.source or ""
    return model.name, model.signature, run.source or ""


def _rank_value(entrant: Entrant, column: BoardColumn) -> float:
    found = entrant.cell(column)
    if found is None or found.mean is None:
        return float("inf")
    assert found.place_value is not None
    return found.place_value if column.higher_is_better is False else -found.place_value
