"""Spearman, Kendall and Krippendorff's α against labels of several grades, in each resample.

Kendall's C − D is summed bit by bit: of two labels with different ranks the order shows at the
highest bit in which the ranks differ, so pairs are counted among the items that share all higher
bits, in the order of the scores. That takes log₂(grades) passes over the items, however many grades
there are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueground.stats.human.confusion import ratio
from trueground.stats.human.scratch import Scratch, Weights, dots
from trueground.stats.human.types import Floats, Ints


@dataclass(frozen=True)
class Bit:
    """The items by one bit of their label's rank: `low` have it not, `high` have it.

    Both are units, in the order of (higher bits, score). For each high item `under` and `upto` are
    how many low ones stand before its score and up to it; for each run of high items with equal
    higher bits, from `starts` on, `first` and `last` bound the low ones with these bits.
    """

    low: Ints
    high: Ints
    under: Ints
    upto: Ints
    starts: Ints
    first: Ints
    last: Ints


@dataclass(frozen=True)
class Cells:
    """Units in the order of their cells: the grade nearest to the score, the grade of the label."""

    unit: Ints
    starts: Ints
    said: Ints
    given: Ints


@dataclass(frozen=True)
class Scale:
    """The items in the order of their scores, and the ranks of their labels, prepared once.

    `unit`, `place` and `code` (n,) are an item's unit, its distinct score and its distinct label;
    `places` and `codes` are where each of these begins, `by_code` the units in the order of the
    labels. `cells` is None where scores leave the scale of the labels.
    """

    unit: Ints
    place: Ints
    places: Ints
    code: Ints
    by_code: Ints
    codes: Ints
    bits: tuple[Bit, ...]
    cells: Cells | None


def scale_of(place: Ints, scores: Floats, labels: Floats, unit: Ints) -> Scale:
    """All arguments of shape (n,); `place` numbers the distinct scores."""
    values, code = np.unique(labels, return_inverse=True)
    code = code.reshape(-1).astype(np.int64)
    order, by_code = np.argsort(place, kind="stable"), np.argsort(code, kind="stable")
    highest = int(code.max(initial=0))
    return Scale(
        unit=unit[order],
        place=place[order],
        places=_starts(place[order]),
        code=code[order],
        by_code=unit[by_code],
        codes=_starts(code[by_code]),
        bits=tuple(_bit(place, code, unit, bit) for bit in range(highest.bit_length())),
        cells=_cells(nearest(scores, values), code, unit),
    )


def ordinal_measures(
    scale: Scale, weights: Weights, alpha: bool, scratch: Scratch
) -> dict[str, Floats]:
    """`weights` (resamples, units); results of shape (resamples,), NaN where undefined."""
    found = rank_measures(scale, weights, scratch)
    if alpha:
        none = np.full(len(weights), np.nan)
        found["krippendorff_alpha"] = (
            none if scale.cells is None else _alpha(scale.cells, weights, len(scale.codes), scratch)
        )
    return found


def rank_measures(scale: Scale, weights: Weights, scratch: Scratch) -> dict[str, Floats]:
    """Spearman's ρ and Kendall's τ-b of one item or more."""
    each = scratch.take("each", weights.floats, scale.unit)
    scores = np.add.reduceat(each, scale.places, axis=1)
    by_code = scratch.take("other", weights.floats, scale.by_code)
    grades = np.add.reduceat(by_code, scale.codes, axis=1)
    total = each.sum(axis=1)
    free = [(total * total - dots(t, t)) / 2 for t in (scores, grades)]
    rho = _spearman(scale, each, total, (scores, grades), scratch)
    order = np.zeros(len(weights))
    for bit in scale.bits:
        order += _order(bit, weights, scratch)
    tau = ratio(order, np.sqrt(free[0] * free[1]))
    both = (free[0] > 0) & (free[1] > 0)
    return {
        "spearman": np.where(both, np.clip(rho, -1, 1), np.nan),
        "kendall": np.where(both, np.clip(tau, -1, 1), np.nan),
    }


def nearest(scores: Floats, values: Floats) -> Ints | None:
    """The number of the nearest grade, the lower of two; None where scores leave their scale."""
    if not len(values) or scores.min() < values[0] or scores.max() > values[-1]:
        return None
    last = len(values) - 1
    above = np.clip(np.searchsorted(values, scores), min(1, last), last)
    under = np.maximum(above - 1, 0)
    return np.where(values[above] - scores < scores - values[under], above, under)


def _starts(ordered: Ints) -> Ints:
    return np.flatnonzero(np.diff(ordered, prepend=-1)).astype(np.int64)


def _bit(place: Ints, code: Ints, unit: Ints, bit: int) -> Bit:
    prefix, up = code >> (bit + 1), ((code >> bit) & 1).astype(np.bool_)
    order = np.lexsort((place, prefix))
    low, high = order[~up[order]], order[up[order]]
    run = prefix * (int(place.max()) + 1) + place
    starts = _starts(prefix[high])
    groups = prefix[high][starts]
    return Bit(
        low=unit[low],
        high=unit[high],
        under=np.searchsorted(run[low], run[high], "left"),
        upto=np.searchsorted(run[low], run[high], "right"),
        starts=starts,
        first=np.searchsorted(prefix[low], groups, "left"),
        last=np.searchsorted(prefix[low], groups, "right"),
    )


def _cells(grade: Ints | None, code: Ints, unit: Ints) -> Cells | None:
    if grade is None:
        return None
    size = int(code.max()) + 1
    cell = grade * size + code
    order = np.argsort(cell, kind="stable")
    starts = _starts(cell[order])
    said, given = np.divmod(cell[order][starts], size)
    return Cells(unit[order], starts, said, given)


def _spearman(
    scale: Scale, each: Floats, total: Floats, counts: tuple[Floats, Floats], scratch: Scratch
) -> Floats:
    """Pearson's correlation of average ranks, measured from the middle rank."""
    product = each
    for name, t, code in zip("xy", counts, (scale.place, scale.code), strict=True):
        ranks = np.cumsum(t, axis=1) - t / 2 - total[:, None] / 2
        mine = scratch.take(f"ranks {name}", ranks, code)
        product = np.multiply(product, mine, out=mine)
    spread = [total**3 - dots(t * t, t) for t in counts]
    return ratio(12 * product.sum(axis=1), np.sqrt(spread[0] * spread[1]))


def _order(bit: Bit, weights: Weights, scratch: Scratch) -> Floats:
    """Concordant less discordant pairs that this bit tells, by weight."""
    low = scratch.summed_up("low", scratch.take("counts", weights.counts, bit.low))
    high = scratch.take("other", weights.floats, bit.high)
    below = scratch.take("ranks x", low, bit.under)
    below += scratch.take("ranks y", low, bit.upto)
    groups = np.add.reduceat(high, bit.starts, axis=1)
    return dots(high, below) - dots(groups, low[:, bit.first].astype(np.float64) + low[:, bit.last])


def _alpha(cells: Cells, weights: Weights, size: int, scratch: Scratch) -> Floats:
    """Krippendorff's ordinal α of two raters: the label, and the grade nearest to the score."""
    each = scratch.take("each", weights.floats, cells.unit)
    found = np.add.reduceat(each, cells.starts, axis=1)
    counts = np.zeros((size, len(weights)))
    np.add.at(counts, cells.said, found.T)
    np.add.at(counts, cells.given, found.T)
    counts = np.ascontiguousarray(counts.T)
    n = counts.sum(axis=1)
    ranks = np.cumsum(counts, axis=1) - counts / 2 - n[:, None] / 2
    apart = dots(found, (ranks[:, cells.said] - ranks[:, cells.given]) ** 2)
    return 1 - ratio(apart * (n - 1), n * dots(counts, ranks * ranks))
