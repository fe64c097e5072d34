"""What metrics that ask a comparer have in common: naming it, and taking its answers in."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from trueground.metrics.column import CODES, Column
from trueground.types import Comparison, Status


def filled(
    column: Column,
    comparisons: Sequence[Comparison | None],
    value: Callable[[Comparison], float],
) -> Column:
    """The column with what was found in the place of those that were asked about.

    Notes tell why something was not found, and what else there is to see.
    """
    values, status = column.values.copy(), column.status.copy()
    notes = []
    for i, found in enumerate(comparisons):
        told: dict[str, object] = {}
        if found is not None:
            status[i] = CODES[found.status]
            values[i] = value(found) if found.status is Status.SCORED else np.nan
            told = {"reply": found.reply, "reason": found.reason, **(found.detail or {})}
        notes.append({name: word for name, word in told.items() if word is not None} or None)
    return Column(values, status, notes)
