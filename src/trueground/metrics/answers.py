"""What metrics that ask a comparer have in common: naming it, and taking its answers in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from trueground.errors import UsageError
from trueground.metrics.column import CODES, Column
from trueground.types import Comparison, Status


def written(comparer: str, model: str | None, options: Mapping[str, str]) -> str:
    """`NAME:MODEL(option=value)`, everything quoted. UsageError for what holds both quotes."""
    said = ",".join(f"{name}={_quoted(comparer, value)}" for name, value in options.items())
    behind = "" if model is None else f":{_quoted(comparer, model)}"
    return f"{comparer}{behind}" + (f"({said})" if said else "")


def _quoted(comparer: str, value: str) -> str:
    mark = "'" if '"' in value else '"'
    if mark in value:
        raise UsageError(f"{comparer}: {value!r} has both kinds of quotes; expected one at most")
    return mark + value + mark


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
