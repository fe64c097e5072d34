"""Correctness against faithfulness: one point for each model (sections 4.3, 5.4; appendix C)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trueground.reports.leaderboard.board import BoardCell
from trueground.reports.leaderboard.qa.settings import (
    INSTRUCTION,
    IRRELEVANT,
    K_PRECISION,
    RECALL,
    SETTING,
    StudyRun,
    metric_key,
    tables,
)


@dataclass(frozen=True)
class PlaneRow:
    """One model; a paper may have printed one of the two numbers only."""

    name: str
    source: str | None
    recall: BoardCell | None
    k_precision: BoardCell | None


@dataclass(frozen=True)
class Plane:
    """The models that were asked alike, best recall first, then those with one number only.

    `metrics` are the two keys.

    `title` names the options by which it differs from other planes of the same task, setting and
    instruction.
    """

    task: str
    setting: str
    instruction: str
    title: str
    metrics: tuple[str, str]
    rows: list[PlaneRow]


def planes(runs: Sequence[StudyRun]) -> list[Plane]:
    """A plane for each task with its options; irrelevant passages hold no answer, so not theirs."""
    fit = (one for one in runs if one.option(SETTING) != IRRELEVANT)
    return tables(fit, _plane, told=(SETTING, INSTRUCTION))


def _plane(group: Sequence[StudyRun], title: str) -> Plane | None:
    recall, precision = metric_key(group, RECALL), metric_key(group, K_PRECISION)
    rows = [
        PlaneRow(one.entrant.name, one.entrant.source, one.cell(recall), one.cell(precision))
        for one in group
    ]
    if recall is None or precision is None or not any(map(whole, rows)):
        return None
    rows = [row for row in rows if row.recall or row.k_precision]
    rows.sort(key=lambda row: (not whole(row), -_mean(row.recall), -_mean(row.k_precision)))
    first = group[0]
    return Plane(
        first.task,
        first.option(SETTING),
        first.option(INSTRUCTION),
        title,
        (recall, precision),
        rows,
    )


def whole(row: PlaneRow) -> bool:
    """Whether the model has a place in the plane."""
    return row.recall is not None and row.k_precision is not None


def _mean(cell: BoardCell | None) -> float:
    return cell.mean or 0.0 if cell else 0.0
