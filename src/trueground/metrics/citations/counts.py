"""Hits of units for each item: from them the item's value, and the micro value of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trueground.metrics.batch import Batch
from trueground.metrics.column import CODES, Column, Floats, Mask, Notes
from trueground.metrics.evidence import Checked
from trueground.text.triples import Key, triple_key
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
            return Counts(
                np.where(gone, 0, self.hits), np.where(gone, 0, self.units), status, self.notes
            )
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
