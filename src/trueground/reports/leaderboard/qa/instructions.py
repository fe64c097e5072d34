"""The two instructions against each other (appendix C, Table 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trueground.reports.leaderboard.board import Cell
from trueground.reports.leaderboard.qa.gold import GoldShare, gold_share
from trueground.reports.leaderboard.qa.settings import (
    GOLD,
    INSTRUCTION,
    INSTRUCTIONS,
    K_PRECISION,
    P_G,
    RECALL,
    RETRIEVED,
    SETTING,
    Asked,
    by_entrant,
    grouped,
    metric_key,
    titles,
)

MEASURES = (RECALL, K_PRECISION, P_G)


@dataclass(frozen=True)
class Change:
    """One measure under v1 and v2. `difference` is v2 - v1, `relative` that over v1.

    Both are None where the two runs are not over the same questions; `relative` also where v1 is 0
    and for P_G, which starts near 0.
    """

    v1: Cell | None
    v2: Cell | None
    difference: float | None
    relative: float | None


@dataclass(frozen=True)
class InstructionRow:
    """One model: measure → change; `gold` is the share of questions that P_G is over."""

    name: str
    source: str | None
    changes: dict[str, Change]
    gold: GoldShare | None


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


def instructions(runs: Sequence[Asked]) -> list[Instructions]:
    """A table for each task and setting where some model was asked with both."""
    fit = [
        one
        for one in runs
        if one.option(SETTING) in (RETRIEVED, GOLD) and one.option(INSTRUCTION) in INSTRUCTIONS
    ]
    groups = grouped(fit, INSTRUCTION)
    named = zip(groups, titles(groups, SETTING, INSTRUCTION), strict=True)
    return [found for group, title in named if (found := _table(group, title)) is not None]


def _table(group: Sequence[Asked], title: str) -> Instructions | None:
    by_version = [[one for one in group if one.option(INSTRUCTION) == v] for v in INSTRUCTIONS]
    keys = {name: [metric_key(own, name) for own in by_version] for name in MEASURES}
    rows = []
    for own in by_entrant(group):
        asked = {one.option(INSTRUCTION): one for one in own}
        if len(asked) == len(INSTRUCTIONS):
            pair = [asked[v] for v in INSTRUCTIONS]
            changes = {name: _change(pair, name, keys[name]) for name in MEASURES}
            if any(change.v1 and change.v2 for change in changes.values()):
                entrant = pair[0].entrant
                rows.append(
                    InstructionRow(entrant.name, entrant.source, changes, gold_share(pair[1]))
                )
    if not rows:
        return None
    rows.sort(key=lambda row: -((cell.mean or 0.0) if (cell := row.changes[RECALL].v1) else 0.0))
    first = group[0]
    return Instructions(first.task, first.option(SETTING), title, keys, rows)


def _change(pair: Sequence[Asked], name: str, keys: Sequence[str | None]) -> Change:
    before, after = (one.cell(key) for one, key in zip(pair, keys, strict=True))
    difference = relative = None
    if before and after and before.mean is not None and after.mean is not None and _alike(pair):
        difference = after.mean - before.mean
        relative = difference / before.mean if before.mean and name != P_G else None
    return Change(before, after, difference, relative)


def _alike(pair: Sequence[Asked]) -> bool:
    """A run with a limit is over other questions than one without."""
    return len({one.run.manifest.limit for one in pair}) == 1
