"""How far several judges of one run agree, verdict by verdict."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueground.evaluate.plan import Plan
from trueground.stats.agreement import cohen_kappa

Counts = NDArray[np.int64]


def agreement(plan: Plan, counts: Counts) -> list[dict[str, Any]]:
    """One entry for each pair of judges and kind of check: raw agreement and Cohen's kappa.

    Both are None where no verdict could be compared; kappa too where all are the same.
    """
    labels = plan.parts.labels
    found = []
    for (a, b), tables in zip(combinations(labels, 2), counts, strict=True):
        for check, table in zip(plan.checks, tables, strict=True):
            n = int(table.sum())
            found.append(
                {
                    "judges": [a, b],
                    "of": str(check),
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
