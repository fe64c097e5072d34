"""How far several judges of one run agree, verdict by verdict."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueground.evaluate.plan import Plan
from trueground.metrics.column import Mask
from trueground.metrics.evidence import BatchContext
from trueground.stats.agreement import cohen_kappa

Counts = NDArray[np.int64]


def no_pairs(plan: Plan) -> Counts:
    """The counts of `verdict_pairs` before anything is counted."""
    judges = len(plan.parts.judges)
    return np.zeros((judges * (judges - 1) // 2, len(plan.kinds), 2, 2), np.int64)


def verdict_pairs(plan: Plan, evidence: BatchContext, failed: Mask) -> Counts:
    """Counts of verdicts, shape (pairs of judges, kinds of checks, 2, 2): not supported, supported.

    A verdict counts where both judges were asked and gave one, on an answer that came: `failed`
    (n,) tells which did not.
    """
    pairs = list(combinations(range(len(plan.parts.judges)), 2))
    counts = no_pairs(plan)
    for number, (a, b) in enumerate(pairs):
        for place, kind in enumerate(plan.kinds):
            ours, theirs = (evidence.of_judge(judge).checks(kind) for judge in (a, b))
            for one, other, lost in zip(ours, theirs, failed.tolist(), strict=True):
                if lost:
                    continue
                for i, (v, w) in enumerate(zip(one.verdicts, other.verdicts, strict=True)):
                    if i in one.settled:
                        continue
                    if v.supported is not None and w.supported is not None:
                        counts[number, place, int(v.supported), int(w.supported)] += 1
    return counts


def agreement(plan: Plan, counts: Counts) -> list[dict[str, Any]]:
    """One entry for each pair of judges and kind of check: raw agreement and Cohen's kappa.

    Both are None where no verdict could be compared; kappa too where all are the same.
    """
    labels = plan.parts.labels
    found = []
    for (a, b), tables in zip(combinations(labels, 2), counts, strict=True):
        for kind, table in zip(plan.kinds, tables, strict=True):
            n = int(table.sum())
            found.append(
                {
                    "judges": [a, b],
                    "of": kind,
                    "n": n,
                    "agreement": float(np.trace(table)) / n if n else None,
                    "kappa": cohen_kappa(table),
                    "supported": [
                        float(table[1].sum()) / n if n else None,
                        float(table[:, 1].sum()) / n if n else None,
                    ],
                }
            )
    return found
