"""Two judges that said yes or no of the same things."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TypedDict

import numpy as np

from trueground.stats.agreement.cohen import cohen, cohen_kappa
from trueground.stats.agreement.intervals import bootstrap_agreement
from trueground.stats.agreement.labels import Ints


class TwoJudges(TypedDict):
    """`n` things judged by both, the share judged alike, Cohen's kappa and its 95% interval.

    What is undefined is None: all of it without a pair, kappa where both always say the same word.
    """

    n: int
    agree: float | None
    kappa: float | None
    kappa_ci: tuple[float, float] | None


def table_of(pairs: Iterable[tuple[bool, bool]]) -> Ints:
    """Counts, shape (2, 2): the first judge in rows, the second in columns; yes first."""
    table = np.zeros((2, 2), np.int64)
    for first, second in pairs:
        table[int(not first), int(not second)] += 1
    return table


def two_judges(
    pairs: Iterable[tuple[bool, bool]],
    groups: Sequence[Hashable] | None = None,
    *,
    resamples: int = 2_000,
    seed: int = 0,
) -> TwoJudges:
    """How two judges agree: (the first says yes, the second says yes) of each thing.

    The interval is a bootstrap over the things, or over `groups` of them, one for each pair, such
    as the item that several facts belong to.
    """
    said = list(pairs)
    table = table_of(said)
    if not said:
        return TwoJudges(n=0, agree=None, kappa=None, kappa_ci=None)
    numbers: dict[Hashable, int] = {}
    of = None
    if groups is not None:
        of = np.array([numbers.setdefault(one, len(numbers)) for one in groups], np.int64)
    labels = np.array(said, np.float64)
    return TwoJudges(
        n=len(said),
        agree=float(np.trace(table)) / len(said),
        kappa=cohen_kappa(table),
        kappa_ci=bootstrap_agreement(labels, cohen, resamples, seed, groups=of),
    )
