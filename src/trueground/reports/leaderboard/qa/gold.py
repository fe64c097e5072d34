"""How often the gold passages were among those that the model was given."""

from __future__ import annotations

from dataclasses import dataclass

from trueground.benchmarks.published import published
from trueground.reports.leaderboard.qa.settings import BENCHMARK, P_G, Asked, metric_key
from trueground.types import Status

_NUMBER = "gold_retrieved"
# Why an item has no P_G: its gold passages were not retrieved, or nothing is said of them.
_WITHOUT = (Status.MISSING_FIELD.value, Status.NOT_APPLICABLE.value)


@dataclass(frozen=True)
class GoldShare:
    """Of `n` responses `found` had the gold passages before them; a paper prints the share only."""

    share: float
    found: int | None = None
    n: int | None = None


def gold_share(one: Asked) -> GoldShare | None:
    """The share of responses that have a P_G; None where none has.

    Responses that could not be scored at all do not count.
    """
    if one.run.source is not None:
        return _printed(one.task)
    key = metric_key([one], P_G)
    entry = None if key is None else one.run.entry(key)
    if entry is None or not entry.scored:
        return None
    n = entry.scored + sum(entry.unscored.get(why, 0) for why in _WITHOUT)
    return GoldShare(entry.scored / n, entry.scored, n)


def _printed(task: str) -> GoldShare | None:
    for table in published(BENCHMARK):
        for number in table.numbers:
            if (number.name, number.task) == (_NUMBER, task):
                return GoldShare(number.value)
    return None
