"""One metric's outcome over a batch: values and statuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueground.types import Status

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

STATUSES = tuple(Status)
CODES = {status: code for code, status in enumerate(STATUSES)}
Options = Mapping[str, str]
Notes = list[dict[str, Any] | None]


@dataclass
class Column:
    """One metric over a batch: `values` (n,) are NaN exactly where `status` (n,) is not scored.

    `notes` (n entries) is what else the evidence of each item should tell.
    """

    values: Floats
    status: NDArray[np.uint8]
    notes: Notes | None = None

    @classmethod
    def of(cls, values: NDArray[np.floating] | NDArray[np.integer] | Mask) -> Column:
        """A column in which every item is scored."""
        return cls(np.asarray(values, np.float64), np.zeros(len(values), np.uint8))

    def without(self, mask: Mask, status: Status) -> Column:
        """The same, but the masked items get this status; an earlier status stays."""
        mask = mask & (self.status == 0)
        code = np.uint8(CODES[status])
        values = np.where(mask, np.nan, self.values)
        return replace(self, values=values, status=np.where(mask, code, self.status))

    def replaced(self, mask: Mask, value: float) -> Column:
        """The same, but the masked items that are scored get this value."""
        return replace(self, values=np.where(mask & (self.status == 0), value, self.values))


def harmonic_mean(a: Floats, b: Floats) -> Floats:
    """2ab / (a + b) of numbers that are not negative, of any one shape; 0 where both are 0."""
    total = a + b
    return np.where(total > 0, 2 * a * b / np.where(total > 0, total, 1.0), total)


def harmonic(precision: Column, recall: Column) -> Column:
    """F1 of each item: 0 where there is a recall but nothing to take a precision of."""
    empty = precision.status == CODES[Status.NO_CLAIMS]
    values = harmonic_mean(np.where(empty, 0.0, precision.values), recall.values)
    status = np.where(recall.status > 0, recall.status, np.where(empty, 0, precision.status))
    values = np.where(status > 0, np.nan, values)
    return Column(values, status.astype(np.uint8), recall.notes)
