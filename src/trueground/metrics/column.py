"""One metric's outcome over a batch: values and statuses, or hits of units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueground.types import Comparison, Failure, Rating, Status

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Codes = NDArray[np.uint8]

STATUSES = tuple(Status)
CODES = {status: code for code, status in enumerate(STATUSES)}
Options = Mapping[str, str]
Notes = list[dict[str, Any] | None]
# Hits and units of one item, or why it has none. No units at all is `no_claims`.
Tally = tuple[int, int] | Status | Failure


@dataclass
class Column:
    """One metric over a batch: `values` (n,) are NaN exactly where `status` (n,) is not scored.

    `notes` (n entries) is what else the evidence of each item should tell.
    """

    values: Floats
    status: Codes
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

    def filled(
        self, answers: Sequence[Comparison | Rating | None], values: Sequence[float | None]
    ) -> Column:
        """The same with value and status of each answer; items without an answer stay as they are.

        Notes tell why an answer has no value, and what else there is to see.
        """
        column = replace(self, values=self.values.copy(), status=self.status.copy())
        column.notes = [None] * len(answers)
        for i, (answer, value) in enumerate(zip(answers, values, strict=True)):
            if answer is None:
                continue
            column.values[i] = np.nan if value is None else value
            column.status[i] = CODES[answer.status]
            note: dict[str, Any] = {"reply": answer.reply, "reason": answer.reason}
            if isinstance(answer, Rating):
                note["replies"] = list(answer.replies) or None
            else:
                note |= answer.detail or {}
            column.notes[i] = {
                name: text for name, text in note.items() if text is not None
            } or None
        return column


@dataclass(frozen=True)
class Counts:
    """Tallies of n items as columns of shape (n,); hits and units are 0 where there is none."""

    hits: Floats
    units: Floats
    status: Codes
    notes: Notes | None = None

    @classmethod
    def of(cls, tallies: Sequence[Tally]) -> Counts:
        """The columns of these items."""
        n = len(tallies)
        notes: Notes = [None] * n
        counts = cls(np.zeros(n), np.zeros(n), np.zeros(n, np.uint8), notes)
        for i, tally in enumerate(tallies):
            if isinstance(tally, tuple) and tally[1]:
                counts.hits[i], counts.units[i] = tally
                continue
            if isinstance(tally, Failure):
                notes[i] = {"reason": tally.reason}
                tally = tally.status
            counts.status[i] = CODES[tally if isinstance(tally, Status) else Status.NO_CLAIMS]
        return counts

    def under(self, policy: str, declined: Mask) -> Counts:
        """The counts under a policy on responses that decline (see `apply_abstain`).

        Where such a response gets a value it counts as that value does: with its units, or with
        one where it has none.
        """
        if policy == "as_is":
            return self
        if policy == "exclude":
            gone = declined & (self.status == 0)
            status = np.where(gone, np.uint8(CODES[Status.ABSTAINED]), self.status)
            hits, units = np.where(gone, 0, self.hits), np.where(gone, 0, self.units)
            return Counts(hits, units, status, self.notes)
        set_ = declined & ((self.status == 0) | (self.status == CODES[Status.NO_CLAIMS]))
        units = np.where(set_, np.maximum(self.units, 1), self.units)
        hits = np.where(set_, units if policy == "one" else 0, self.hits)
        return Counts(hits, units, np.where(set_, np.uint8(0), self.status), self.notes)

    @property
    def totals(self) -> tuple[Floats, Floats]:
        """Hits and units."""
        return self.hits, self.units

    @property
    def column(self) -> Column:
        """Hits over units."""
        some = self.units > 0
        values = np.divide(self.hits, self.units, out=np.full(len(some), np.nan), where=some)
        return Column(values, self.status.copy(), self.notes)


def ratio(a: NDArray[np.int64], b: NDArray[np.int64], empty: float) -> Floats:
    """a / b, and `empty` where b is 0."""
    return np.where(b > 0, a / np.maximum(b, 1), empty)


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
