"""Measures of a score against a 0/1 label that need the weight below each distinct score only."""

from __future__ import annotations

import numpy as np

from trueground.stats.human.calibration import gaps
from trueground.stats.human.confusion import ratio
from trueground.stats.human.scratch import Scratch, dots
from trueground.stats.human.types import Floats, Ints


def ranked(
    negative: Floats,
    positive: Floats,
    probability: tuple[Floats, Ints] | None,
    scratch: Scratch,
) -> dict[str, Floats]:
    """AUROC, ρ, τ-b and the gaps of the calibration error, shape (resamples,).

    `negative` and `positive` (resamples, places + 1) are the weights below each place; where the
    scores are a probability, `probability` has them (places,) and the edges of their bins. With
    U = P · N · AUROC Spearman's covariance is U − PN/2, and Kendall's C − D is twice that. NaN
    where undefined.
    """
    rows, size = negative.shape
    n, p = negative[:, -1].copy(), positive[:, -1].copy()
    pairs, total = n * p, n + p
    # U is the area under the steps (negative, positive), here as the sum of its triangles.
    turns = dots(positive[:, 1:], negative[:, :-1]) - dots(positive[:, :-1], negative[:, 1:])
    u = (pairs + turns) / 2
    both = np.add(negative, positive, out=scratch.room("both", rows, size))
    here = np.subtract(both[:, 1:], both[:, :-1], out=scratch.room("here", rows, size - 1))
    found: dict[str, Floats] = {}
    if probability is not None:
        found |= gaps(here, positive, *probability, scratch)
    squares = np.multiply(here, here, out=scratch.room("work", rows, size - 1))
    untied = (total * total - squares.sum(axis=1)) / 2
    spread = ratio(pairs, total) * (total**3 - dots(squares, here)) / 12
    over = u - pairs / 2
    return found | {
        "auroc": ratio(u, pairs),
        "spearman": np.clip(ratio(over, np.sqrt(np.where(untied > 0, spread, 0.0))), -1, 1),
        "kendall": np.clip(ratio(2 * over, np.sqrt(untied * pairs)), -1, 1),
    }
