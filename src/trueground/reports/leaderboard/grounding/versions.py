"""What each model loses from version to version, and against a baseline model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trueground.errors import UsageError
from trueground.reports.leaderboard.board import Board, BoardColumn, Entrant
from trueground.reports.leaderboard.grounding.settings import (
    MEASURES,
    PAIRS,
    STRICT,
    Group,
    cells,
    metric_key,
    who,
)


@dataclass(frozen=True)
class Drop:
    """From one version to another; `rate` is the share lost, (before - after) / before.

    `difference` is after - before; both are None where a mean is missing, and where the two runs
    were scored otherwise (another judge, a limit); `rate` also where `before` is 0.
    """

    before: str
    after: str
    difference: float | None
    rate: float | None


@dataclass(frozen=True)
class VersionRow:
    """One model's means by version, None where it has none, and its drops."""

    name: str
    source: str | None
    means: dict[str, float | None]
    drops: list[Drop]


@dataclass(frozen=True)
class VersionTable:
    """One measure in the versions that were asked alike. `columns` is version → column id."""

    measure: str
    metrics: list[str]
    title: str
    columns: dict[str, str]
    rows: list[VersionRow]


@dataclass(frozen=True)
class DegradationRow:
    """One model against the baseline, version by version; None where either has no mean."""

    name: str
    source: str | None
    means: dict[str, float | None]
    rates: dict[str, float | None]


@dataclass(frozen=True)
class Degradation:
    """Rates (baseline - model) / baseline, as in the paper's Table 3; `base` are its means."""

    measure: str
    title: str
    baseline: str
    source: str | None
    base: dict[str, float | None]
    rows: list[DegradationRow]


def version_tables(board: Board, groups: Sequence[Group]) -> list[VersionTable]:
    """A table for each measure of each group with at least two versions."""
    found = []
    for group in groups:
        for measure in MEASURES if len(group.columns) > 1 else ():
            means, keys = _means(board, group, measure)
            rows = [
                VersionRow(e.name, e.source, means[who(e)], _drops(e, group, keys, means[who(e)]))
                for e in board.entrants
                if sum(mean is not None for mean in means[who(e)].values()) > 1
                and group.has(means[who(e)])
            ]
            if rows:
                ids = {task: column.id for task, column in group.columns.items()}
                found.append(VersionTable(measure, keys, group.title, ids, rows))
    return found


def degradation(board: Board, groups: Sequence[Group], baseline: str) -> list[Degradation]:
    """Every other model against the baseline, the paper's models against the paper's baseline.

    Raises UsageError where no model of that name stands in a version of the benchmark.
    """
    found = []
    for group in groups:
        means, _ = _means(board, group, STRICT)
        present = [e for e in board.entrants if group.has(means[who(e)])]
        for base in (e for e in present if _is(e, baseline)):
            rows = [
                _against(e, means[who(base)], means[who(e)])
                for e in present
                if e is not base and e.source == base.source
            ]
            if rows:
                own = means[who(base)]
                found.append(Degradation(STRICT, group.title, base.name, base.source, own, rows))
    if not found:
        named = sorted({e.name for e in board.entrants if e.runs})
        raise UsageError(
            f"--baseline {baseline}: no such model beside others in runs of truly-ground here. "
            f"Name one of: {', '.join(named) or 'none'}."
        )
    return found


def _means(
    board: Board, group: Group, measure: str
) -> tuple[dict[str, dict[str, float | None]], list[str]]:
    """Entrant → version → mean, and the metrics' spellings."""
    found: dict[str, dict[str, float | None]] = {
        who(e): dict.fromkeys(group.columns) for e in board.entrants
    }
    keys = []
    for task, column in group.columns.items():
        key = metric_key(board, column, measure)
        if key is not None and key not in keys:
            keys.append(key)
        for entrant, own in cells(board, column, key).items():
            found[entrant][task] = own.mean
    return found, keys


def _drops(
    entrant: Entrant, group: Group, keys: Sequence[str], means: dict[str, float | None]
) -> list[Drop]:
    scales = {task: scale_of(entrant, column, keys) for task, column in group.columns.items()}
    return [
        _drop(before, after, means[before], means[after] if alike else None)
        for before, after in PAIRS
        if before in means and after in means
        for alike in [scales[before] == scales[after]]
    ]


def scale_of(entrant: Entrant, column: BoardColumn, keys: Sequence[str]) -> tuple[object, ...]:
    """What two runs of a model must share for a drop between them to mean anything."""
    run = entrant.runs.get(column.id)
    if run is None or run.source is not None:
        return ()
    return (*(run.manifest.metrics.get(key) for key in keys), run.manifest.limit)


def _drop(before: str, after: str, a: float | None, b: float | None) -> Drop:
    return Drop(before, after, None if a is None or b is None else b - a, rate_of(a, b))


def rate_of(before: float | None, after: float | None) -> float | None:
    """The share lost; None where a number is missing or nothing was there to lose."""
    if before is None or after is None or before <= 0:
        return None
    return (before - after) / before


def _is(entrant: Entrant, name: str) -> bool:
    """By its name, or the model's without the organisation in front."""
    wanted = name.casefold()
    known = {entrant.name.casefold(), entrant.model.casefold()}
    return wanted in known | {n.rpartition("/")[2] for n in known}


def _against(
    entrant: Entrant, base: dict[str, float | None], own: dict[str, float | None]
) -> DegradationRow:
    rates = {task: rate_of(base[task], own[task]) for task in base}
    return DegradationRow(entrant.name, entrant.source, own, rates)
