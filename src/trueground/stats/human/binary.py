"""Measures of a score against a 0/1 label that need the weight below each distinct score only."""

from __future__ import annotations

import numpy as np

from trueground.stats.human.confusion import ratio
from trueground.stats.human.scratch import Scratch, dots
from trueground.stats.human.types import Floats

_BINS = np.arange(1, 10) / 10


def ranked(
    negative: Floats, positive: Floats, probability: Floats | None, scratch: Scratch
) -> dict[str, Floats]:
    """AUROC, ρ, τ-b, the best balanced accuracy and the calibration error, shape (resamples,).

    `negative` and `positive` (resamples, places + 1) are the weights below each place,
    `probability` (places,) the scores where they are probabilities. With U = P · N · AUROC
    Spearman's covariance is U − PN/2, and Kendall's C − D is twice that. NaN where undefined.
    """
    rows, size = negative.shape
    n, p = negative[:, -1].copy(), positive[:, -1].copy()
    pairs, total = n * p, n + p
    # U is the area under the steps (negative, positive), here as the sum of its triangles.
    turns = dots(positive[:, 1:], negative[:, :-1]) - dots(positive[:, :-1], negative[:, 1:])
    u = (pairs + turns) / 2
    both = np.add(negative, positive, out=scratch.room("both", rows, size))
    here = np.subtract(both[:, 1:], both[:, :-1], out=scratch.room("here", rows, size - 1))
    found = {}
    if probability is not None:
        found["calibration_error"] = _calibration_error(both, here, positive, probability, scratch)
    squares = np.multiply(here, here, out=scratch.room("work", rows, size - 1))
    untied = (total * total - squares.sum(axis=1)) / 2
    spread = ratio(pairs, total) * (total**3 - dots(squares, here)) / 12
    over = u - pairs / 2
    # Above a cut stand 1 − positive/p of the positives, below it negative/n of the negatives.
    share = np.multiply(negative, p[:, None], out=scratch.room("work", rows, size))
    share -= np.multiply(positive, n[:, None], out=scratch.room("here", rows, size))
    best = (1 + ratio(share.max(axis=1), pairs)) / 2
    return found | {
        "auroc": ratio(u, pairs),
        "spearman": np.clip(ratio(over, np.sqrt(np.where(untied > 0, spread, 0.0))), -1, 1),
        "kendall": np.clip(ratio(2 * over, np.sqrt(untied * pairs)), -1, 1),
        "balanced_accuracy_best": np.where(untied > 0, best, np.nan),
    }


def _calibration_error(
    both: Floats, here: Floats, positive: Floats, scores: Floats, scratch: Scratch
) -> Floats:
    """As stats.logistic.calibration_error: ten bins of equal weight, equal scores in one bin."""
    rows, places = here.shape
    total = both[:, -1]
    edges = np.zeros((rows, len(_BINS) + 2), np.int64)
    edges[:, -1] = places
    for i, row in enumerate(both):
        edges[i, 1:-1] = row.searchsorted(total[i] * _BINS, "left")
    believed = scratch.room("work", rows, places + 1)
    believed[:, -1] = 0.0
    np.multiply(here, scores, out=believed[:, :-1])
    # reduceat gives an empty bin, of which ties make some, the number at its edge: not counted.
    gaps = -np.diff(np.take_along_axis(positive, edges, axis=1))
    for i in range(rows):
        gaps[i] += np.add.reduceat(believed[i], edges[i, :-1])
    gaps[np.diff(edges) == 0] = 0.0
    return ratio(np.abs(gaps).sum(axis=1), total)
