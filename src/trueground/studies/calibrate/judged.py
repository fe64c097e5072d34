"""What is known of all judged records, before any statistics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trueground.claims import Decomposer
from trueground.judges import Judge
from trueground.stats.thresholds import Floats, Mask
from trueground.studies.labelled import LabelledSet


@dataclass(frozen=True)
class Judged:
    """Scores and labels of all judged records, each of shape (n,), and where they come from.

    `by_verdict` says that scores are verdicts, 1 for True and 0 for False, because the judge has no
    others. `told` are notes on the files. `probabilities` is NaN where the judge gave none;
    `clusters` is None where no record has a group; `file_numbers` counts from 0 in the order of
    `files`.
    """

    judge: Judge
    decomposer: Decomposer | None
    label: str
    positive_above: float
    files: Sequence[LabelledSet]
    told: Sequence[str]
    unscored: Sequence[Counter[str]]
    by_verdict: bool
    scores: Floats
    probabilities: Floats
    labels: Mask
    clusters: NDArray[np.int64] | None
    file_numbers: NDArray[np.int64]
