"""Papers' numbers as runs, in the same columns as the user's; what makes them another scale."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from trueground.benchmarks.published import PublishedScore, PublishedTable, published
from trueground.benchmarks.registry import all_benchmarks
from trueground.benchmarks.studies import PaperJudge
from trueground.errors import UsageError
from trueground.metrics.base import make_spec
from trueground.metrics.registry import parse_spec
from trueground.plugins import bare_name, split_key
from trueground.reports.leaderboard.board import Board, BoardColumn, studies_of
from trueground.reports.leaderboard.names import few
from trueground.reports.leaderboard.runs import (
    DATASET,
    BenchmarkPart,
    Manifest,
    MetricEntry,
    ModelPart,
    Run,
    RunSummary,
)


@dataclass(frozen=True)
class PaperRank:
    """A printed row of ranks: original, new, and the printed difference."""

    name: str
    original: int
    new: int
    difference: int


@dataclass(frozen=True)
class PaperRanks:
    """One printed table of ranks; `place` says where it stands."""

    source: str
    place: str
    task: str
    rows: list[PaperRank]


def paper_runs(board: Board) -> list[Run]:
    """The published models of every column with which the paper's numbers can be compared.

    What is comparable each benchmark says (`Studies.comparable`). Raises UsageError where there is
    nothing.
    """
    found = [run for column in board.columns for run in _column_runs(column)]
    if not found:
        titles = ", ".join(column.title for column in board.columns) or "none"
        printed = [b.studies().printed for b in all_benchmarks().values()]
        raise UsageError(
            "--with-published: no published number belongs to these runs. "
            f"{', '.join(filter(None, printed))}; the runs here are: {titles}. Leave the option "
            "out."
        )
    return found


def paper_ranks(board: Board) -> list[PaperRanks]:
    """The printed ranks of every task that stands on the board beside its original."""
    pairs = {(c.benchmark, c.options.get("of")) for c in board.columns if c.options.get("of")}
    tasks = {(c.benchmark, c.task): c for c in board.columns}
    return [
        PaperRanks(
            table.source,
            table.place,
            str(task),
            [
                PaperRank(row.model, row.original, row.new, row.difference)
                for row in sorted(rows, key=lambda row: row.original)
            ],
        )
        for (benchmark, task), column in tasks.items()
        if (benchmark, task) in pairs
        for table in _tables(column)
        if (rows := [row for row in table.ranks if row.task == task])
    ]


def _tables(column: BoardColumn) -> Sequence[PublishedTable]:
    return published(column.benchmark) if column.benchmark else ()


def _as_published(column: BoardColumn, score: PublishedScore) -> bool:
    comparable = studies_of(column.benchmark).comparable
    return score.task == column.task and comparable(score.task, column.options, score.options)


def _column_runs(column: BoardColumn) -> list[Run]:
    """One run for each model: of the first table that has it, with other metrics of later ones."""
    found: dict[str, Run] = {}
    for table in _tables(column):
        for run in _runs(column, table):
            found.setdefault(_model(run), run)
    for table in _tables(column):
        for model, run in found.items():
            if table.place not in (run.place or ""):
                found[model] = _with_others(run, column, model, table)
    return list(found.values())


def _with_others(run: Run, column: BoardColumn, model: str, table: PublishedTable) -> Run:
    """The run with the metrics over all items that only this table has."""
    others = {
        score.metric: MetricEntry(mean=score.value, sd=score.sd)
        for score in table.scores
        if (score.model, score.dataset, score.by) == (model, None, {})
        and _as_published(column, score)
        and score.metric not in run.summary.metrics
    }
    if not others:
        return run
    run.summary.metrics.update(others)
    return replace(run, place=f"{run.place}; {table.place}")


def _model(run: Run) -> str:
    return run.manifest.model.name if run.manifest.model else ""


def _runs(column: BoardColumn, table: PublishedTable) -> list[Run]:
    """One run for each model that has the column's metric, asked as the column was."""
    by_model: dict[str, list[PublishedScore]] = {}
    for score in table.scores:
        if _as_published(column, score):
            by_model.setdefault(score.model, []).append(score)
    studies, wanted = studies_of(column.benchmark), _key(column, column.metric)
    return [
        _run(column, table, model, scores)
        for model, scores in by_model.items()
        if studies.any_metric or any(_key(column, score.metric) == wanted for score in scores)
    ]


def _run(
    column: BoardColumn, table: PublishedTable, model: str, scores: Sequence[PublishedScore]
) -> Run:
    summary = RunSummary(metrics={})
    datasets: dict[str, dict[str, MetricEntry]] = {}
    for score in scores:
        place = _place(summary, datasets, score)
        place[score.metric] = MetricEntry(mean=score.value, sd=score.sd)
        if _key(column, score.metric) == _key(column, column.metric):
            place[column.metric] = place[score.metric]
    if datasets:
        summary.by[DATASET] = datasets
        summary.averages[DATASET] = {
            name: MetricEntry(
                mean=entry.mean, values=sum(name in split for split in datasets.values())
            )
            for name, entry in summary.metrics.items()
        }
    part = BenchmarkPart(
        column.benchmark or "", column.task or "", column.metric, dict(column.options)
    )
    manifest = Manifest(trueground="", kind="run", benchmark=part, model=ModelPart(model))
    return Run(f"published {model}", manifest, summary, source=table.source, place=table.place)


def _place(
    summary: RunSummary, datasets: dict[str, dict[str, MetricEntry]], score: PublishedScore
) -> dict[str, MetricEntry]:
    """The metrics of all items, of a dataset, or of another part of the items."""
    if score.dataset is not None:
        return datasets.setdefault(score.dataset, {})
    if not score.by:
        return summary.metrics
    ((field, value),) = score.by.items()
    return summary.by.setdefault(field, {}).setdefault(value, {})


def _key(column: BoardColumn, metric: str) -> str:
    """The canonical spelling of a metric, without the judge and without options to be ignored."""
    metric = split_key(metric).spec
    try:
        spec = parse_spec(metric)
    except UsageError:
        return metric
    ignored = studies_of(column.benchmark).ignored
    kept = {name: value for name, value in spec.options.items() if name not in ignored}
    return make_spec(spec.metric, kept).key


def beside_published(board: Board) -> list[str]:
    """Why published numbers cannot simply be set beside the runs in the same column.

    Runs over a part of the task; verdicts or ratings of other models; code that is not the paper's.
    """
    judged: dict[PaperJudge, tuple[list[str], dict[str, list[str]]]] = {}
    coded: dict[str, list[str]] = defaultdict(list)
    titles, cut = [], []
    for column, ours, papers in _columns(board):
        if own := [run.label for run in ours if run.manifest.limit is not None]:
            titles.append(column.title)
            cut += own
        studies = studies_of(column.benchmark)
        for judge in studies.judges:
            strange = [run for run in ours if _has(judge, run) and not _by(judge, run)]
            if strange and any(_has(judge, run) for run in papers):
                told = judged.setdefault(judge, ([], defaultdict(list)))
                told[0].append(column.title)
                for run in strange:
                    part = getattr(run.manifest, judge.part)
                    who = part.name if part else f"no {judge.part} that the manifest names"
                    told[1][who].append(run.label)
        code = studies.code
        if code and column.metric.startswith(code.metric) and code.lacking not in column.metric:
            coded[code.words].append(column.title)
    found = []
    if cut:
        found.append(f"{few(titles)}: {few(cut)} ran with a limit; the published numbers are over "
                     "the whole task.")  # fmt: skip
    for judge, (named, others) in judged.items():
        told_by = "; ".join(f"{few(labels)} by {name}" for name, labels in sorted(others.items()))
        found.append(f"{few(named)}: the published {judge.words} by {judge.model}, the runs "
                     f"otherwise: {told_by}. Two {judge.part}s are two scales.")  # fmt: skip
    return found + [f"{few(named)}: {words}" for words, named in coded.items()]


def _columns(board: Board) -> Iterator[tuple[BoardColumn, list[Run], list[Run]]]:
    """Each column that has published numbers, with the runs in it and those of the papers."""
    for column in board.columns:
        runs = [e.runs[column.id] for e in board.entrants if column.id in e.runs]
        papers = [run for run in runs if run.source is not None]
        if papers and len(papers) < len(runs):
            yield column, [run for run in runs if run.source is None], papers


def _has(judge: PaperJudge, run: Run) -> bool:
    return any(
        bare_name(key).removesuffix("_micro") in judge.metrics for key in run.summary.metrics
    )


def _by(judge: PaperJudge, run: Run) -> bool:
    part = getattr(run.manifest, judge.part)
    return judge.model in (part.signature if part else "")
