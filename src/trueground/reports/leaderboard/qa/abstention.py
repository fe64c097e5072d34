"""Declining to answer: irrelevant passages against gold ones (section 5.3, Table 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trueground.reports.leaderboard.board import Cell
from trueground.reports.leaderboard.qa.settings import (
    GOLD,
    INSTRUCTION,
    IRRELEVANT,
    P_G,
    P_IR,
    RETRIEVAL,
    RETRIEVER,
    SETTING,
    Asked,
    by_entrant,
    grouped,
    metric_key,
    titles,
)
from trueground.reports.leaderboard.short import short_names


@dataclass(frozen=True)
class Counts:
    """How many responses declined, and how many answered."""

    abstained: int
    answered: int


@dataclass(frozen=True)
class Confusion:
    """Abstaining against `answerable`, as summary.json has it, over both runs."""

    unanswerable: Counts
    answerable: Counts


@dataclass(frozen=True)
class AbstentionRow:
    """One model: P_IR of its irrelevant run, P_G of its gold run; or both of one run.

    To decline where nothing can be answered is the positive class of `precision`, `recall` and
    `f1`; they and `confusion` are None where the counts are not known. `runs` are the two labels,
    `label` is the retriever's signature in short.
    """

    name: str
    source: str | None
    retriever: str
    label: str
    p_ir: Cell
    p_g: Cell
    precision: float | None
    recall: float | None
    f1: float | None
    confusion: Confusion | None
    runs: list[str]


@dataclass(frozen=True)
class Abstention:
    """The models that were asked alike, those first whose P_IR is furthest above their P_G.

    `metrics` are the two keys.

    `setting` is `irrelevant`, or that of runs which hold both kinds of questions.
    """

    task: str
    setting: str
    instruction: str
    title: str
    metrics: tuple[str, str]
    rows: list[AbstentionRow]


def abstention(runs: Sequence[Asked]) -> list[Abstention]:
    """A table for each task and instruction in which some model has both rates."""
    partners = {id(one): other for one in runs if (other := _partner(one, runs)) is not None}
    groups = grouped((one for one in runs if id(one) in partners), RETRIEVER)
    named = zip(groups, titles(groups, SETTING, INSTRUCTION, RETRIEVER), strict=True)
    return [
        table
        for group, title in named
        if (table := _table([(one, partners[id(one)]) for one in group], title)) is not None
    ]


def _partner(one: Asked, runs: Sequence[Asked]) -> Asked | None:
    """The run that has P_G where this one has P_IR: itself if it has both."""
    if one.cell(metric_key([one], P_IR)) is None:
        return None
    if one.cell(metric_key([one], P_G)) is not None:
        return one
    return _gold(one, runs) if one.option(SETTING) == IRRELEVANT else None


def _gold(irrelevant: Asked, runs: Sequence[Asked]) -> Asked | None:
    """The same model's run with gold passages that was otherwise asked alike."""
    (own,) = [g for g in by_entrant(runs) if g[0].entrant is irrelevant.entrant]
    alike = [g for g in own if g.option(SETTING) == GOLD and g.task == irrelevant.task]
    left = RETRIEVAL | {SETTING}
    for gold in alike:
        a, b = irrelevant.rest(*left), gold.rest(*left)
        shared = {n for n in a.keys() & b.keys() if a[n] is not None and b[n] is not None}
        if all(a[name] == b[name] for name in shared):
            return gold
    return None


def _table(pairs: Sequence[tuple[Asked, Asked]], title: str) -> Abstention | None:
    p_ir = metric_key((one for one, _ in pairs), P_IR)
    p_g = metric_key((gold for _, gold in pairs), P_G)
    short = short_names(one.option(RETRIEVER) for one, _ in pairs)
    rows = [
        _row(one, short, up, across, list(dict.fromkeys((one.run.label, gold.run.label))))
        for one, gold in pairs
        if (up := one.cell(p_ir)) and (across := gold.cell(p_g))
    ]
    if p_ir is None or p_g is None or not rows:
        return None
    rows.sort(key=lambda row: (row.p_g.mean or 0.0) - (row.p_ir.mean or 0.0))
    first = pairs[0][0]
    return Abstention(
        first.task, first.option(SETTING), first.option(INSTRUCTION), title, (p_ir, p_g), rows
    )


def _row(
    irrelevant: Asked, short: Mapping[str, str], p_ir: Cell, p_g: Cell, labels: list[str]
) -> AbstentionRow:
    unanswerable, answerable = _counts(p_ir), _counts(p_g)
    precision = f1 = confusion = None
    if unanswerable and answerable:
        confusion = Confusion(unanswerable, answerable)
        right, wrong = unanswerable.abstained, answerable.abstained
        precision = _share(right, right + wrong)
        f1 = _share(2 * right, 2 * right + wrong + unanswerable.answered)
    entrant = irrelevant.entrant
    return AbstentionRow(
        name=entrant.name,
        source=entrant.source,
        retriever="" if entrant.source else irrelevant.option(RETRIEVER),
        label="" if entrant.source else short[irrelevant.option(RETRIEVER)],
        p_ir=p_ir,
        p_g=p_g,
        precision=precision,
        recall=p_ir.mean,
        f1=f1,
        confusion=confusion,
        runs=[] if entrant.source else labels,
    )


def _counts(rate: Cell) -> Counts | None:
    """A rate is a mean of zeros and ones, so that its counts follow."""
    if rate.mean is None or rate.scored is None:
        return None
    abstained = round(rate.mean * rate.scored)
    return Counts(abstained, rate.scored - abstained)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
