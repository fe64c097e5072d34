"""Hits of units for each item: from them the item's value, and the micro value of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trueground.metrics.batch import Batch
from trueground.metrics.column import CODES, Column, Floats, Notes
from trueground.metrics.evidence import Checked
from trueground.text.citations.triples import Key, triple_key
from trueground.types import Failure, Status, Triple

# Hits and units of one item, or why it has none. No units at all is `no_claims`.
Tally = tuple[int, int] | Status | Failure


@dataclass(frozen=True)
class Counts:
    """Tallies of n items as columns of shape (n,); hits and units are 0 where there is none."""

    hits: Floats
    units: Floats
    status: NDArray[np.uint8]
    notes: Notes | None = None

    @classmethod
    def of(cls, tallies: Sequence[Tally]) -> Counts:
        """The columns of these items."""
        n = len(tallies)
        counts = cls(np.zeros(n), np.zeros(n), np.zeros(n, np.uint8), [None] * n)
        assert counts.notes is not None
        for i, tally in enumerate(tallies):
            if isinstance(tally, tuple) and tally[1]:
                counts.hits[i], counts.units[i] = tally
                continue
            if isinstance(tally, Failure):
                counts.notes[i] = {"reason": tally.reason}
                tally = tally.status
            found = tally if isinstance(tally, Status) else Status.NO_CLAIMS
            counts.status[i] = CODES[found]
        return counts

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


def harmonic(precision: Column, recall: Column) -> Column:
    """F1 of each item: 0 where there is a recall but nothing to take a precision of."""
    empty = precision.status == CODES[Status.NO_CLAIMS]
    p = np.where(empty, 0.0, precision.values)
    total = p + recall.values
    values = np.where(total > 0, 2 * p * recall.values / np.where(total > 0, total, 1.0), total)
    status = np.where(recall.status > 0, recall.status, np.where(empty, 0, precision.status))
    values = np.where(status > 0, np.nan, values)
    return Column(values, status.astype(np.uint8), recall.notes)


def unanswered(checked: Checked) -> Status | Failure | None:
    """Why verdicts of an item are missing; None where all are there."""
    if checked.failure is not None:
        return checked.failure
    return next((v.status for v in checked.verdicts if v.status is not Status.SCORED), None)


def graphs_of(batch: Batch) -> Iterator[Status | None]:
    """For each item why its citations cannot be scored; None where it has a graph."""
    for graphs in batch.graphs:
        if graphs is None:
            yield Status.MISSING_FIELD
        else:
            yield None if graphs else Status.NOT_APPLICABLE


def unique(triples: Sequence[Triple]) -> dict[Key, Triple]:
    """The different triples in their order; empty values are no triples."""
    found: dict[Key, Triple] = {}
    for triple in triples:
        key = triple_key(triple)
        if key[2]:
            found.setdefault(key, triple)
    return found
