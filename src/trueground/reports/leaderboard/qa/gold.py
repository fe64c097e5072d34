"""How often the gold passages were among those that the model was given."""

from __future__ import annotations

from dataclasses import dataclass

from trueground.benchmarks.published import published
from trueground.reports.leaderboard.qa.settings import BENCHMARK, GOLD, SETTING, StudyRun

_NUMBER = "gold_retrieved"
_FIELD = "meta.gold_retrieved"


@dataclass(frozen=True)
class GoldShare:
    """Of `n` responses `found` had the gold passages before them; a paper prints the share only."""

    share: float
    found: int | None = None
    n: int | None = None


def gold_share(one: StudyRun) -> GoldShare | None:
    """The share of responses, among those whose gold passages are known; None where none are.

    With gold passages it is 1.
    """
    if one.option(SETTING) == GOLD:
        n = one.run.summary.n
        return GoldShare(1.0, n, n) if n else None
    if one.run.source is not None:
        return _printed(one.task)
    parts = one.run.summary.by.get(_FIELD, {})
    found, missed = (
        max((entry.n or 0 for entry in parts.get(name, {}).values()), default=0)
        for name in ("true", "false")
    )
    n = found + missed
    return GoldShare(found / n, found, n) if n else None


def _printed(task: str) -> GoldShare | None:
    for table in published(BENCHMARK):
        for number in table.numbers:
            if (number.name, number.task) == (_NUMBER, task):
                return GoldShare(number.value)
    return None
