"""What a study gives: tables of numbers, what they warn about, changes, ranks, correlations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from trueground.reports.leaderboard.board import Board, BoardCell
from trueground.reports.leaderboard.declining import Declining
from trueground.reports.leaderboard.names import few
from trueground.stats.correlation import Correlation, correlation, rank_differences

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
class StudyRow:
    """One model: `cells` by measure and place, `changes` by measure and step.

    `size` is in billions of parameters with who says so. `ranks` are of both ends of the step and
    their difference. `score` is a mean over the places, `placed_by` what it is ranked by where a
    place is over fewer items. `unlike` says how the questions of its runs differ, `apart` why it is
    not to be ranked with the others. `runs` are the labels, none of a paper.
    """

    name: str
    source: str | None
    cells: list[list[BoardCell | None]]
    changes: list[list[RankedChange]] = field(default_factory=list)
    size: tuple[float, str] | None = None
    ranks: tuple[int, int, int] | None = None
    declining: Declining | None = None
    organisation: str | None = None
    score: float | None = None
    placed_by: float | None = None
    unlike: str | None = None
    apart: str | None = None
    runs: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class StudyTable:
    """One table of a study, of the runs that were asked alike; `group` says how.

    `metrics` are the spellings by measure. `missing` are models that lack something; `over_models`
    are correlations of the two measures of a scatter. `baseline` is the model against which changes
    are told, if any.
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
    """A sentence for each way in which runs that stand together asked other questions."""
    told: dict[tuple[str, str, str], list[str]] = {}
    for table in tables:
        for row in table.rows if table.baseline is None else ():
            steps = [c.unlike for line in row.changes for c in line if c.unlike]
            for why in dict.fromkeys([*([row.unlike] if row.unlike else []), *steps]):
                then = "No difference is told between them."
                if table.kind == "sweep":
                    then = "They do not tell one from another."
                elif row.declining and row.declining.common:
                    then = (f"Precision, recall and F1 of declining are over the "
                            f"{row.declining.common:,} in common.")  # fmt: skip
                elif table.kind == "scatter":
                    then = ("The two rates stand by themselves, without precision, recall and F1 "
                            "of declining.")  # fmt: skip
                place = table.group or table.title
                told.setdefault((place, why, then), []).append(" with ".join(row.runs))
    found = []
    for (place, why, then), runs in told.items():
        alike = "scored alike" if why.startswith(OTHERWISE) else "over the same questions"
        labels = few(list(dict.fromkeys(runs)))
        found.append(f"{place}: {labels}: not {alike} ({why}). {then}")
    return found


def over_models(board: Board, rows: Sequence[StudyRow]) -> list[Coefficients]:
    """Correlations of the first two cells over models, own ones and each paper's by themselves.

    A model that was run twice counts once, and rows that stand apart do not.
    """
    models = {(e.name, e.source): e.model for e in board.entrants}
    found = []
    for source in sorted({row.source for row in rows}, key=lambda source: source or ""):
        own: dict[str, tuple[float, float]] = {}
        for row in sorted(rows, key=lambda row: (len(row.name), row.name)):
            if row.source == source and not row.apart:
                pair = (mean_of(row.cells[0][0]), mean_of(row.cells[1][0]))
                own.setdefault(models[row.name, row.source], pair)
        x, y = [a for a, _ in own.values()], [b for _, b in own.values()]
        found.append(Coefficients(source, correlation(x, y), correlation(x, y, ranked=True)))
    return found


def share_lost(before: float | None, after: float | None) -> float | None:
    """(before - after) / before; None where a number is missing or nothing was there to lose."""
    if before is None or after is None or before <= 0:
        return None
    return (before - after) / before


def mean_of(found: BoardCell | None) -> float:
    """The mean, 0 for none."""
    return (found.mean or 0.0) if found else 0.0


def change_of(
    before: str,
    after: str,
    a: BoardCell | None,
    b: BoardCell | None,
    *,
    lost: bool,
    relative: bool,
    unlike: str | None = None,
) -> RankedChange:
    """What one step changes; nothing where a number is missing or the runs are `unlike`."""
    if a is None or b is None or a.mean is None or b.mean is None or unlike:
        return RankedChange(before, after, None, None, unlike if a and b else None)
    share = share_lost(a.mean, b.mean) if relative else None
    if share is not None and not lost:
        share = -share if share else 0.0
    return RankedChange(before, after, b.mean - a.mean, share)


def ranked(rows: Sequence[StudyRow]) -> list[StudyRow]:
    """Rows with both numbers, in order of the first; ranks are those of `place_value`.

    Rows that stand apart follow without ranks.
    """
    whole = [row for row in rows if all(row.cells[0])]
    known = {f"{row.name}\n{row.source or ''}": row for row in whole if not row.apart}
    before, after = (
        {key: _place_value(row.cells[0][k]) for key, row in known.items()} for k in (0, 1)
    )
    found = []
    for ranks in rank_differences(before, after):
        assert ranks.rank_a and ranks.rank_b and ranks.difference is not None  # noqa: PT018 - there
        numbers = (ranks.rank_a, ranks.rank_b, ranks.difference)
        found.append(replace(known[ranks.name], ranks=numbers))
    return found + [row for row in whole if row.apart]


def _place_value(found: BoardCell | None) -> float:
    return (found.place_value or 0.0) if found else 0.0


def against(table: StudyTable, board: Board, baseline: str) -> Iterator[StudyTable]:
    """Every other model against the baseline, a paper's models against the paper's own.

    Rates are (baseline - model) / baseline, place by place, in the table's first measure.
    """
    models = {(e.name, e.source): e.model for e in board.entrants}
    wanted = baseline.casefold()
    for base in table.rows:
        names = {base.name.casefold(), models[base.name, base.source].casefold()}
        if wanted not in names | {name.rpartition("/")[2] for name in names}:
            continue
        rows = []
        for row in table.rows:
            if row is base or row.source != base.source:
                continue
            changes = [
                change_of(place, place, a, b, lost=True, relative=True)
                for place, a, b in zip(table.places, base.cells[0], row.cells[0], strict=True)
            ]
            rows.append(replace(row, cells=[row.cells[0]], changes=[changes]))
        if rows:
            yield replace(
                table,
                id="baseline",
                title=f"Loss against {base.name}",
                note="The share of the baseline's mean that each other model lacks, (baseline − "
                "model) / baseline; below 0, the model is better.",
                measures=table.measures[:1],
                metrics=table.metrics[:1],
                rows=[replace(base, cells=[base.cells[0]], changes=[]), *rows],
                baseline=base.name,
            )
