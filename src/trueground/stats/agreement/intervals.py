"""Bootstrap intervals of agreement, over items or over groups of them."""

from __future__ import annotations

import numpy as np

from trueground.stats.agreement.labels import Floats, Ints, Statistic, as_array
from trueground.stats.bootstrap import percentiles


def bootstrap_agreement(
    labels: Floats,
    statistic: Statistic,
    resamples: int = 2_000,
    seed: int = 0,
    level: float = 0.95,
    *,
    groups: Ints | None = None,
) -> tuple[float, float] | None:
    """A percentile bootstrap interval over the items that have two labels or more.

    `statistic` is one of this package, such as `partial(krippendorff_alpha, measure="ordinal")`.
    `groups`, shape (items,), are items that are drawn together, such as the parts of one task.
    Samples in which the statistic is undefined are left out. None where it is undefined for the
    labels, and for fewer than two items or groups.
    """
    array = as_array(labels)
    rated = (~np.isnan(array)).sum(axis=1) >= 2
    array = array[rated]
    if groups is None:
        if len(array) < 2 or statistic(array) is None:
            return None
        return percentiles(_of_items(array, statistic, resamples, seed), level)
    of = np.unique(groups[rated], return_inverse=True)[1].reshape(-1)
    if int(of.max(initial=-1)) < 1 or statistic(array) is None:
        return None
    return percentiles(_of_groups(array, of, statistic, resamples, seed), level)


def _of_items(array: Floats, statistic: Statistic, resamples: int, seed: int) -> Floats:
    """Items with the same labels are drawn together: few patterns, however many items."""
    patterns, _, often = _patterns(array)
    return _drawn(patterns, None, often, statistic, resamples, seed)


def _of_groups(array: Floats, of: Ints, statistic: Statistic, resamples: int, seed: int) -> Floats:
    """Groups with the same labels, each as often, are drawn together."""
    patterns, row, _ = _patterns(array)
    counts = np.zeros((int(of.max()) + 1, len(patterns)))
    np.add.at(counts, (of, row), 1.0)
    alike, often = np.unique(counts, axis=0, return_counts=True)
    return _drawn(patterns, alike, often, statistic, resamples, seed)


def _patterns(array: Floats) -> tuple[Floats, Ints, Ints]:
    """(the rows of labels that differ, which of them each row is, how often each is there)."""
    codes = np.unique(array, return_inverse=True)[1].reshape(array.shape)
    codes[np.isnan(array)] = -1
    _, firsts, row, counts = np.unique(
        codes, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    return array[firsts], row.reshape(-1), counts


def _drawn(
    patterns: Floats,
    alike: Floats | None,
    often: Ints,
    statistic: Statistic,
    resamples: int,
    seed: int,
) -> Floats:
    """The statistic of samples of units, of which `often` are alike.

    `alike` (units, patterns) is how often a unit has each pattern; None where it is one of each.
    """
    n = int(often.sum())
    random = np.random.Generator(np.random.SFC64([seed, 0]))
    drawn = np.full(resamples, np.nan)
    for number in range(resamples):
        units = random.multinomial(n, often / n).astype(np.float64)
        weights = units if alike is None else units @ alike
        some = weights > 0
        value = statistic(patterns[some], weights=weights[some])
        drawn[number] = np.nan if value is None else value
    return drawn
