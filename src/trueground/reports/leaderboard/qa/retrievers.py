"""Runs that differ in the retriever only (appendix B, Figure 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trueground.reports.leaderboard.board import BoardCell
from trueground.reports.leaderboard.qa.gold import GoldShare, gold_share
from trueground.reports.leaderboard.qa.questions import difference
from trueground.reports.leaderboard.qa.settings import (
    INSTRUCTION,
    K_PRECISION,
    RECALL,
    RETRIEVED,
    RETRIEVER,
    SETTING,
    StudyRun,
    by_entrant,
    metric_key,
    tables,
)
from trueground.reports.leaderboard.short import short_names


@dataclass(frozen=True)
class RetrieverCell:
    """One model with one retriever; `gold` is how often the gold passages were found.

    `label` is the retriever's signature in short.
    """

    retriever: str
    label: str
    recall: BoardCell | None
    k_precision: BoardCell | None
    gold: GoldShare | None
    run: str


@dataclass(frozen=True)
class RetrieverRow:
    """One model with each retriever that it was run with, by the retriever's name.

    `unlike` says how the questions of two of its runs differ, None where all are over the same.
    """

    name: str
    cells: list[RetrieverCell]
    unlike: str | None


@dataclass(frozen=True)
class Retrievers:
    """One task asked with several retrievers. `metrics` is measure → key."""

    task: str
    instruction: str
    title: str
    metrics: dict[str, str]
    retrievers: list[str]
    rows: list[RetrieverRow]


def retrievers(runs: Sequence[StudyRun]) -> list[Retrievers]:
    """A table for each task where some model was run with two retrievers.

    A paper's numbers come from one retriever, so that they are left out.
    """
    own = [one for one in runs if one.run.source is None and one.option(SETTING) == RETRIEVED]
    fit = (one for one in own if one.option(RETRIEVER))
    return tables(fit, _table, over=(RETRIEVER,), told=(INSTRUCTION, RETRIEVER))


def _table(group: Sequence[StudyRun], title: str) -> Retrievers | None:
    keys = {name: key for name in (RECALL, K_PRECISION) if (key := metric_key(group, name))}
    short = short_names(one.option(RETRIEVER) for one in group)
    rows = []
    for found in by_entrant(group):
        own = sorted(found, key=lambda one: one.option(RETRIEVER))
        cells = [
            RetrieverCell(
                one.option(RETRIEVER),
                short[one.option(RETRIEVER)],
                one.cell(keys.get(RECALL)),
                one.cell(keys.get(K_PRECISION)),
                gold_share(one),
                one.run.label,
            )
            for one in own
        ]
        if len(cells) > 1 and any(c.recall or c.k_precision for c in cells):
            unlike = (difference(own[0], one) for one in own[1:])
            rows.append(RetrieverRow(own[0].entrant.name, cells, next(filter(None, unlike), None)))
    if not rows:
        return None
    first = group[0]
    names = sorted({cell.retriever for row in rows for cell in row.cells})
    return Retrievers(first.task, first.option(INSTRUCTION), title, keys, names, rows)
