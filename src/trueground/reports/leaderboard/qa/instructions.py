"""The two instructions against each other (appendix C, Table 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trueground.reports.leaderboard.board import BoardCell
from trueground.reports.leaderboard.qa.gold import GoldShare, gold_share
from trueground.reports.leaderboard.qa.questions import difference
from trueground.reports.leaderboard.qa.settings import (
    GOLD,
    INSTRUCTION,
    INSTRUCTIONS,
    K_PRECISION,
    P_G,
    RECALL,
    RETRIEVED,
    SETTING,
    StudyRun,
    by_entrant,
    metric_key,
    tables,
)

MEASURES = (RECALL, K_PRECISION, P_G)


@dataclass(frozen=True)
class InstructionChange:
    """One measure under v1 and v2. `difference` is v2 - v1, `relative` that over v1.

    Both are None where the two runs are not over the same questions; `relative` also where v1 is 0
    and for P_G, which starts near 0.
    """

    v1: BoardCell | None
    v2: BoardCell | None
    difference: float | None
    relative: float | None


@dataclass(frozen=True)
class InstructionRow:
    """One model: measure → change; `gold` is how often the gold passages were there.

    `runs` are the labels under v1 and v2, none of a paper. `unlike` says how the questions of the
    two differ, None where they are the same.
    """

    name: str
    source: str | None
    changes: dict[str, InstructionChange]
    gold: GoldShare | None
    runs: list[str]
    unlike: str | None


@dataclass(frozen=True)
class Instructions:
    """One task and setting under both instructions, best recall under v1 first.

    `metrics` is measure → key for v1 and v2.
    """

    task: str
    setting: str
    title: str
    metrics: dict[str, list[str | None]]
    rows: list[InstructionRow]


def instructions(runs: Sequence[StudyRun]) -> list[Instructions]:
    """A table for each task and setting where some model was asked with both."""
    fit = (
        one
        for one in runs
        if one.option(SETTING) in (RETRIEVED, GOLD) and one.option(INSTRUCTION) in INSTRUCTIONS
    )
    return tables(fit, _table, over=(INSTRUCTION,), told=(SETTING, INSTRUCTION))


def _table(group: Sequence[StudyRun], title: str) -> Instructions | None:
    by_version = [[one for one in group if one.option(INSTRUCTION) == v] for v in INSTRUCTIONS]
    keys = {name: [metric_key(own, name) for own in by_version] for name in MEASURES}
    rows = []
    for own in by_entrant(group):
        asked = {one.option(INSTRUCTION): one for one in own}
        if len(asked) == len(INSTRUCTIONS):
            pair = [asked[v] for v in INSTRUCTIONS]
            unlike = difference(*pair)
            changes = {n: _change(pair, n, keys[n], same=unlike is None) for n in MEASURES}
            if any(change.v1 and change.v2 for change in changes.values()):
                rows.append(_row(pair, changes, unlike))
    if not rows:
        return None
    rows.sort(key=lambda row: -((cell.mean or 0.0) if (cell := row.changes[RECALL].v1) else 0.0))
    first = group[0]
    return Instructions(first.task, first.option(SETTING), title, keys, rows)


def _row(
    pair: Sequence[StudyRun], changes: dict[str, InstructionChange], unlike: str | None
) -> InstructionRow:
    entrant = pair[0].entrant
    labels = [] if entrant.source else [one.run.label for one in pair]
    gold = gold_share(pair[1])
    return InstructionRow(entrant.name, entrant.source, changes, gold, labels, unlike)


def _change(
    pair: Sequence[StudyRun], name: str, keys: Sequence[str | None], *, same: bool
) -> InstructionChange:
    before, after = (one.cell(key) for one, key in zip(pair, keys, strict=True))
    change = relative = None
    if same and before and after and before.mean is not None and after.mean is not None:
        change = after.mean - before.mean
        relative = change / before.mean if before.mean and name != P_G else None
    return InstructionChange(before, after, change, relative)
