"""What a study gives: tables of numbers, their changes, ranks and correlations, and warnings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from trueground.benchmarks import Scatter
from trueground.errors import InputError
from trueground.stats import Correlation
from trueground.studies.finished import FinishedRun
from trueground.studies.leaderboard.board import BoardRow
from trueground.studies.leaderboard.runs import BoardCell, Run, difference, same_files
from trueground.text import few

OTHERWISE = "scored otherwise:"


@dataclass(frozen=True)
class RankedChange:
    """One step: `difference` is after - before, `relative` that over before, or the share lost.

    Both are None where a number is missing, and where `unlike` says how the two runs differ.
    """

    before: str
    after: str
    difference: float | None
    relative: float | None
    unlike: str | None = None


@dataclass(frozen=True)
class Coefficients:
    """Pearson's and Spearman's coefficient over models; a paper's models stand apart."""

    source: str | None
    pearson: Correlation
    spearman: Correlation


@dataclass(frozen=True)
class Declining:
    """Counts of two runs; to decline where nothing can be answered is the positive class.

    `common`: over so many answers that the runs share, as their questions differ; None: over all.
    Rates are None where there is nothing to divide by.
    """

    declined: int
    missed: int
    declined_wrongly: int
    answered: int
    precision: float | None
    recall: float | None
    f1: float | None
    common: int | None = None


@dataclass(frozen=True)
class StudyRow:
    """One model: `cells` by measure and place, `changes` by measure and step.

    `size` is in billions of parameters with who says so, `ranks` are of both ends of the step and
    their difference, `score` a mean over the places, `placed_by` what it is ranked by where one is
    over fewer items. `unlike` says how the questions of its runs differ, `apart` why it is not to
    be ranked.
    """

    name: str
    source: str | None
    cells: list[list[BoardCell | None]]
    changes: list[list[RankedChange]] = field(default_factory=list)
    size: tuple[float, str] | None = None
    ranks: tuple[int, int, int] | None = None
    declining: Declining | None = None
    organization: str | None = None
    score: float | None = None
    placed_by: float | None = None
    unlike: str | None = None
    apart: str | None = None
    runs: list[str] = field(default_factory=list)

    def of_measures(self, kept: Sequence[int]) -> StudyRow:
        """The row with these measures only; changes between measures are one line of their own."""
        changes = self.changes
        if len(changes) > 1:
            changes = [changes[k] for k in kept]
        return replace(self, cells=[self.cells[k] for k in kept], changes=changes)


@dataclass(frozen=True)
class StudyTable:
    """One table of a study, of the runs that were asked alike; `group` says how.

    `metrics` are the spellings by measure, `missing` models that lack something, `over_models`
    correlations of two measures, `baseline` the model against which changes are told, if any.
    """

    id: str
    kind: str
    benchmark: str
    title: str
    note: str
    group: str
    places: list[str]
    measures: list[str]
    metrics: list[list[str]]
    rows: list[StudyRow]
    short: str | None = None
    across: int = 0
    declining: bool = False
    lost: bool = False
    sizes: bool = False
    over_models: list[Coefficients] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    baseline: str | None = None


def study_warnings(tables: Sequence[StudyTable]) -> list[str]:
    """Return a warning for each way in which runs of one table asked different questions."""
    labels_of: dict[tuple[str, str, str], list[str]] = {}
    for table in tables:
        for row in table.rows if table.baseline is None else ():
            steps = [c.unlike for line in row.changes for c in line if c.unlike]
            then = "No difference between them is shown."
            if table.kind == "sweep":
                then = "Their numbers can't be compared."
            elif row.declining and row.declining.common:
                then = (f"Precision, recall and F1 of declining are over the "
                        f"{row.declining.common:,} in common.")  # fmt: skip
            elif table.kind == "scatter":
                then = ("The two rates are shown without precision, recall and F1 "
                        "of declining.")  # fmt: skip
            for difference_text in dict.fromkeys([*([row.unlike] if row.unlike else []), *steps]):
                group = table.group or table.title
                labels_of.setdefault((group, difference_text, then), []).append(
                    " with ".join(row.runs)
                )
    warnings = []
    for (group, difference_text, then), runs in labels_of.items():
        alike = (
            "scored alike" if difference_text.startswith(OTHERWISE) else "over the same questions"
        )
        labels = few(list(dict.fromkeys(runs)))
        warnings.append(f"{group}: {labels}: not {alike} ({difference_text}). {then}")
    return warnings


def mean_of(cell: BoardCell | None) -> float:
    """The mean, 0 for none."""
    return (cell.mean or 0.0) if cell else 0.0


def change_of(
    before: str,
    after: str,
    a: BoardCell | None,
    b: BoardCell | None,
    *,
    lost: bool = False,
    relative: bool = True,
    unlike: str | None = None,
) -> RankedChange:
    """What one step changes; nothing where a number is missing or the runs are `unlike`.

    A relative change is (after - before) / before, or with `lost` its negative; there is none where
    nothing was there before.
    """
    if a is None or b is None or a.mean is None or b.mean is None or unlike:
        return RankedChange(before, after, None, None, unlike if a and b else None)
    share = (a.mean - b.mean) / a.mean if relative and a.mean > 0 else None
    if share and not lost:
        share = -share
    return RankedChange(before, after, b.mean - a.mean, share)


def ranked(rows: Sequence[StudyRow]) -> list[StudyRow]:
    """Rows with both numbers, in order of the first; those that stand apart follow without ranks.

    Equal values share the better rank (1, 2, 2, 4), as in FaithEval's Tables 6 to 8.
    """
    whole = [row for row in rows if all(row.cells[0])]
    comparable = [row for row in whole if not row.apart]
    values = [[cell.place_value or 0.0 for cell in row.cells[0] if cell] for row in comparable]
    sides = list(zip(*values, strict=True))
    rows_ranked = []
    for row, row_values in zip(comparable, values, strict=True):
        a, b = (
            1 + sum(v > value for v in side) for side, value in zip(sides, row_values, strict=True)
        )
        rows_ranked.append(replace(row, ranks=(a, b, a - b)))
    rows_ranked.sort(key=lambda row: (row.ranks or (), row.name, row.source or ""))
    return rows_ranked + [row for row in whole if row.apart]


def best_of_each(rows: Sequence[StudyRow]) -> list[StudyRow]:
    """Of each organization the best model.

    One of unknown origin competes with nobody, and none with a row that stands apart.
    """

    def score(row: StudyRow) -> float:
        return (row.score or 0.0) if row.placed_by is None else row.placed_by

    best: dict[tuple[str, str], StudyRow] = {}
    for row in rows:
        key = ("", row.organization) if row.organization and not row.apart else (row.name, "")
        if key not in best or score(row) > score(best[key]):
            best[key] = row
    return sorted(best.values(), key=lambda row: (bool(row.apart), -score(row), row.name))


def over_models(pairs: Iterable[tuple[BoardRow, str | None, float, float]]) -> list[Coefficients]:
    """Correlations of two numbers of each row, own ones and each paper's by themselves.

    A model that was run twice counts once, and rows that stand apart, for the reason given, do not.
    """
    by_length = sorted(pairs, key=lambda pair: (len(pair[0].name), pair[0].name))
    coefficients = []
    for source in sorted({row.source for row, *_ in by_length}, key=lambda name: name or ""):
        numbers: dict[str, tuple[float, float]] = {}
        for row, apart, x, y in by_length:
            if row.source == source and not apart:
                numbers.setdefault(row.model, (x, y))
        xs, ys = [x for x, _ in numbers.values()], [y for _, y in numbers.values()]
        coefficients.append(
            Coefficients(source, Correlation.of(xs, ys), Correlation.of(xs, ys, ranked=True))
        )
    return coefficients


def scattered(
    study: Scatter, pairs_of_rows: Sequence[tuple[BoardRow, StudyRow]]
) -> tuple[list[StudyRow], list[Coefficients]]:
    """The rows in order, with correlations over models; none where no model has both measures."""
    complete = [
        (row, study_row.apart, mean_of(study_row.cells[0][0]), mean_of(study_row.cells[1][0]))
        for row, study_row in pairs_of_rows
        if all(line[0] for line in study_row.cells[:2])
    ]

    def order(row: StudyRow) -> tuple[Any, ...]:
        if study.sizes and row.size:
            return row.size[0], row.name.casefold(), row.source or ""
        x, y = (mean_of(line[0]) for line in row.cells[:2])
        if study.declining:
            return bool(row.apart), y - x
        return bool(row.apart), not all(line[0] for line in row.cells[:2]), -x, -y

    rows = (
        sorted((study_row for _, study_row in pairs_of_rows), key=order)
        if complete or study.sizes
        else []
    )
    return rows, [] if study.sizes or study.declining else over_models(complete)


def against(table: StudyTable, rows: Sequence[BoardRow], baseline: str) -> Iterator[StudyTable]:
    """Every other model against the baseline, a paper's models against the paper's own.

    Rates are (baseline - model) / baseline, place by place, in the table's first measure.
    """
    models = {(row.name, row.source): row.model for row in rows}
    baseline_name = baseline.casefold()
    for base in table.rows:
        names = {base.name.casefold(), models[base.name, base.source].casefold()}
        if baseline_name not in names | {name.rpartition("/")[2] for name in names}:
            continue
        others = []
        for row in table.rows:
            if row is not base and row.source == base.source:
                changes = [
                    change_of(place, place, a, b, lost=True)
                    for place, a, b in zip(table.places, base.cells[0], row.cells[0], strict=True)
                ]
                others.append(replace(row, cells=row.cells[:1], changes=[changes]))
        if others:
            yield replace(
                table,
                id="baseline",
                title=f"Loss against {base.name}",
                note="The share of the baseline's mean that each other model lacks, (baseline − "
                "model) / baseline; below 0, the model is better.",
                measures=table.measures[:1],
                metrics=table.metrics[:1],
                rows=[replace(base, cells=base.cells[:1], changes=[]), *others],
                baseline=base.name,
            )


# ---- how many responses declined ----


def count_declining(
    runs: tuple[Run, Run], keys: tuple[str, str], rates: tuple[BoardCell, BoardCell], skips: str
) -> tuple[Declining | None, str | None]:
    """The counts, and how the questions differ where they do; no counts where none can be had.

    The first run is the one in which nothing can be answered; `keys` are the metrics of the rates,
    `skips` as in `difference`.
    """
    unlike = difference(*runs, skips)
    if unlike is None:
        a, b = rates  # means of zeros and ones, so that the counts follow
        if a.mean is None or a.scored is None or b.mean is None or b.scored is None:
            return None, None
        return _declining(a.mean * a.scored, a.scored, b.mean * b.scored, b.scored), None
    if not same_files(*runs):  # equal ids may be other questions
        return None, unlike
    try:
        scores_a, scores_b = (
            FinishedRun.open(run.folder or Path()).read_scores([key])
            for run, key in zip(runs, keys, strict=True)
        )
    except InputError as error:
        return None, f"{unlike}; {error}"
    _, *rows = np.intersect1d(scores_a.ids, scores_b.ids, assume_unique=True, return_indices=True)
    n = len(rows[0])
    if not n:
        return None, f"{unlike}; no id is in both"
    values_of_runs = [
        scores.values[row, 0] for scores, row in zip((scores_a, scores_b), rows, strict=True)
    ]
    first, second = (values[~np.isnan(values)].tolist() for values in values_of_runs)
    # A limit that cut nothing off leaves the questions the same.
    common = None if {n} == {run.summary.n for run in runs} else n
    counts = _declining(sum(first), len(first), sum(second), len(second), common)
    return counts, unlike if common else None


def _declining(
    right: float, nothing: int, wrong: float, gold: int, common: int | None = None
) -> Declining:
    right, wrong = round(right), round(wrong)
    missed, answered = nothing - right, gold - wrong
    wholes = (right + wrong, right + missed, right + (wrong + missed) / 2)
    precision, recall, f1 = (right / whole if whole else None for whole in wholes)
    return Declining(right, missed, wrong, answered, precision, recall, f1, common)
