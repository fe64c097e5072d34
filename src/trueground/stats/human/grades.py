"""Spearman, Kendall and Krippendorff's α against labels of several grades, in each resample.

Kendall's C − D is summed bit by bit: two labels differ in their order at the highest bit in which
their ranks differ, so pairs are counted among the items that share all higher bits, in the order of
the scores. That takes log₂(grades) passes over the items, however many grades there are.
"""

from __future__ import annotations

import numpy as np

from trueground.stats.human.column import Column
from trueground.stats.human.types import Floats, Ints
from trueground.stats.human.verdicts import ratio


def ordinal_measures(column: Column, weights: Floats) -> dict[str, Floats]:
    """`weights` (resamples, units); results of shape (resamples,), NaN where undefined."""
    each = np.take(weights, column.unit, axis=1)
    found = rank_measures(column, each)
    values, code = _codes(column.labels)
    grade = nearest(column.scores, values)
    if column.threshold is not None:
        alpha = np.full(len(each), np.nan)
        if grade is not None:
            alpha = _alpha(each, grade, code, len(values))
        found["krippendorff_alpha"] = alpha
    return found


def rank_measures(column: Column, each: Floats) -> dict[str, Floats]:
    """Spearman's ρ and Kendall's τ-b of a column with items; `each` (resamples, n) weighs them."""
    values, code = _codes(column.labels)
    scores = by_code(each, column.place, len(column.distinct))
    grades = by_code(each, code, len(values))
    total = each.sum(axis=1)
    free = [(total * total - np.einsum("ij,ij->i", t, t)) / 2 for t in (scores, grades)]
    found = {
        "spearman": _spearman(each, total, (column.place, code), (scores, grades)),
        "kendall": ratio(_order(each, column.place, code), np.sqrt(free[0] * free[1])),
    }
    both = (free[0] > 0) & (free[1] > 0)
    return {name: np.where(both, np.clip(one, -1, 1), np.nan) for name, one in found.items()}


def _codes(labels: Floats) -> tuple[Floats, Ints]:
    values, code = np.unique(labels, return_inverse=True)
    return values, code.reshape(-1).astype(np.int64)


def by_code(each: Floats, code: Ints, size: int) -> Floats:
    """The weight at each of `size` codes, shape (resamples, size); every code is met."""
    order = np.argsort(code, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(code, minlength=size))[:-1]))
    return np.asarray(np.add.reduceat(np.take(each, order, axis=1), starts, axis=1), np.float64)


def nearest(scores: Floats, values: Floats) -> Ints | None:
    """The number of the nearest grade, the lower of two; None where scores leave their scale."""
    if not len(values) or scores.min() < values[0] or scores.max() > values[-1]:
        return None
    above = np.clip(np.searchsorted(values, scores), 1 if len(values) > 1 else 0, len(values) - 1)
    under = np.maximum(above - 1, 0)
    return np.where(values[above] - scores < scores - values[under], above, under)


def _spearman(
    each: Floats, total: Floats, codes: tuple[Ints, Ints], counts: tuple[Floats, Floats]
) -> Floats:
    """Pearson's correlation of average ranks, measured from the middle rank."""
    ranks = [np.cumsum(t, axis=1) - t / 2 - total[:, None] / 2 for t in counts]
    product = each * np.take(ranks[0], codes[0], axis=1)
    product *= np.take(ranks[1], codes[1], axis=1)
    spread = [total**3 - (t**3).sum(axis=1) for t in counts]
    return ratio(12 * product.sum(axis=1), np.sqrt(spread[0] * spread[1]))


def _order(each: Floats, place: Ints, code: Ints) -> Floats:
    """Concordant less discordant pairs, by weight."""
    found = np.zeros(len(each))
    for bit in range(int(code.max()).bit_length()):
        prefix, high = code >> (bit + 1), (code >> bit) & 1
        order = np.lexsort((place, prefix))
        mine = np.take(each, order, axis=1)
        low = np.zeros((len(each), len(code) + 1))
        np.cumsum(mine * (1 - high[order]), axis=1, out=low[:, 1:])
        ordered = prefix[order]
        run = ordered * (int(place.max()) + 1) + place[order]
        ups = np.flatnonzero(high[order])
        sides = [np.searchsorted(run, run[ups], side) for side in ("left", "right")]
        ends = [np.searchsorted(ordered, ordered[ups], side) for side in ("left", "right")]
        difference = np.take(low, sides[0], axis=1) + np.take(low, sides[1], axis=1)
        difference -= np.take(low, ends[0], axis=1) + np.take(low, ends[1], axis=1)
        found += np.einsum("ij,ij->i", mine[:, ups], difference)
    return found


def _alpha(each: Floats, grade: Ints, code: Ints, size: int) -> Floats:
    """Krippendorff's ordinal α of two raters: the label, and the grade nearest to the score."""
    cell, which = np.unique(grade * size + code, return_inverse=True)
    cells = by_code(each, which.reshape(-1), len(cell))
    said, given = np.divmod(cell, size)
    counts = np.zeros((len(each), size))
    for column, one in ((said, cells), (given, cells)):
        np.add.at(counts.T, column, one.T)
    n = counts.sum(axis=1)
    ranks = np.cumsum(counts, axis=1) - counts / 2 - n[:, None] / 2
    apart = np.einsum("ij,ij->i", cells, (ranks[:, said] - ranks[:, given]) ** 2)
    spread = np.einsum("ij,ij->i", counts, ranks * ranks)
    return 1 - ratio(apart * (n - 1), n * spread)
