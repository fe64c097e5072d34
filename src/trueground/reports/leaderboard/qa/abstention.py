"""Declining to answer: irrelevant passages against gold ones (section 5.3, Table 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from trueground.reports.leaderboard.board import BoardCell
from trueground.reports.leaderboard.qa.counts import Confusion, counted, rates, unlike
from trueground.reports.leaderboard.qa.settings import (
    GOLD,
    INSTRUCTION,
    IRRELEVANT,
    P_G,
    P_IR,
    RETRIEVAL,
    RETRIEVER,
    SETTING,
    StudyRun,
    by_entrant,
    metric_key,
    tables,
)
from trueground.reports.leaderboard.short import short_names


@dataclass(frozen=True)
class AbstentionRow:
    """One model: P_IR of its irrelevant run, P_G of its gold run; or both of one run.

    `p_ir` and `p_g` are of the whole runs. To decline where nothing can be answered is the positive
    class of `precision`, `recall` and `f1`. `unlike` says how the questions of the two runs differ:
    those three and `confusion` are then over the `common` ones alone, and None without these, as
    they are where a paper printed no counts. `runs` are the two labels, `label` is the retriever's
    signature in short.
    """

    name: str
    source: str | None
    retriever: str
    label: str
    p_ir: BoardCell
    p_g: BoardCell
    precision: float | None
    recall: float | None
    f1: float | None
    confusion: Confusion | None
    runs: list[str]
    unlike: str | None
    common: int | None


@dataclass(frozen=True)
class Abstention:
    """The models that were asked alike, those first whose P_IR is furthest above their P_G.

    `metrics` are the two keys. `setting` is `irrelevant`, or that of runs
    which hold both kinds of questions.
    """

    task: str
    setting: str
    instruction: str
    title: str
    metrics: tuple[str, str]
    rows: list[AbstentionRow]


def abstention(runs: Sequence[StudyRun]) -> list[Abstention]:
    """A table for each task and instruction in which some model has both rates."""
    partners = {id(one): other for one in runs if (other := _partner(one, runs)) is not None}
    fit = (one for one in runs if id(one) in partners)
    make = partial(_table, partners)
    return tables(fit, make, over=(RETRIEVER,), told=(SETTING, INSTRUCTION, RETRIEVER))


def _partner(one: StudyRun, runs: Sequence[StudyRun]) -> StudyRun | None:
    """The run that has P_G where this one has P_IR: itself if it has both."""
    if one.cell(metric_key([one], P_IR)) is None:
        return None
    if one.cell(metric_key([one], P_G)) is not None:
        return one
    return _gold(one, runs) if one.option(SETTING) == IRRELEVANT else None


def _gold(irrelevant: StudyRun, runs: Sequence[StudyRun]) -> StudyRun | None:
    """The same model's run with gold passages that was otherwise asked alike.

    If there are several, one over the same questions.
    """
    (own,) = [g for g in by_entrant(runs) if g[0].entrant is irrelevant.entrant]
    alike = [
        gold
        for gold in own
        if gold.option(SETTING) == GOLD and gold.task == irrelevant.task
        if _asked_alike(irrelevant, gold)
    ]
    return min(alike, key=lambda gold: unlike(irrelevant, gold) is not None, default=None)


def _asked_alike(irrelevant: StudyRun, gold: StudyRun) -> bool:
    left = RETRIEVAL | {SETTING}
    a, b = irrelevant.rest(*left), gold.rest(*left)
    shared = {n for n in a.keys() & b.keys() if a[n] is not None and b[n] is not None}
    return all(a[name] == b[name] for name in shared)


def _table(
    partners: Mapping[int, StudyRun], group: Sequence[StudyRun], title: str
) -> Abstention | None:
    pairs = [(one, partners[id(one)]) for one in group]
    p_ir = metric_key(group, P_IR)
    p_g = metric_key((gold for _, gold in pairs), P_G)
    if p_ir is None or p_g is None:
        return None
    short = short_names(one.option(RETRIEVER) for one in group)
    rows = [row for pair in pairs if (row := _row(pair, short, (p_ir, p_g))) is not None]
    if not rows:
        return None
    rows.sort(key=lambda row: (row.p_g.mean or 0.0) - (row.p_ir.mean or 0.0))
    first = group[0]
    return Abstention(
        first.task, first.option(SETTING), first.option(INSTRUCTION), title, (p_ir, p_g), rows
    )


def _row(
    pair: tuple[StudyRun, StudyRun], short: Mapping[str, str], metrics: tuple[str, str]
) -> AbstentionRow | None:
    irrelevant, gold = pair
    p_ir, p_g = irrelevant.cell(metrics[0]), gold.cell(metrics[1])
    if p_ir is None or p_g is None:
        return None
    found = counted(pair, metrics, p_ir, p_g)
    precision, recall, f1 = rates(found.confusion)
    entrant = irrelevant.entrant
    return AbstentionRow(
        name=entrant.name,
        source=entrant.source,
        retriever="" if entrant.source else irrelevant.option(RETRIEVER),
        label="" if entrant.source else short[irrelevant.option(RETRIEVER)],
        p_ir=p_ir,
        p_g=p_g,
        precision=precision,
        recall=p_ir.mean if found.unlike is None else recall,
        f1=f1,
        confusion=found.confusion,
        runs=[] if entrant.source else list(dict.fromkeys(one.run.label for one in pair)),
        unlike=found.unlike,
        common=found.common,
    )
