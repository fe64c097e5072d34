"""A claim beside its texts: where they say most of it, what speaks against it, and the features."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueground.judges.lexical import anchors, contradictions, presence, quantities, reasons, slots
from trueground.judges.lexical.coverage import ClaimView, Coverage
from trueground.judges.lexical.features import NAMES, features
from trueground.judges.lexical.pool import WordPool
from trueground.judges.lexical.reasons import Reason
from trueground.text.refusal import find_refusal
from trueground.types import ReasonKind

_CHECKED = 300  # tokens: a longer claim is a text, to which the checks do not apply
_READ = 0.5  # coverage from which a text is searched for contradictions
_NEARLY = 0.05  # coverage: texts so near to the best may clear the claim of a contradiction
_TRIED = 3  # such texts
_SHORT = 8  # items: a claim that says so little must be said nearly whole
_WHOLE = 0.75  # coverage that is nearly whole
_CHECKS: tuple[Callable[[contradictions.ContradictionView], Reason | None], ...] = (
    contradictions.polarity,
    contradictions.hedging,
    quantities.quantifiers,
    quantities.bounds,
    contradictions.exclusives,
    anchors.governors,
    anchors.counted,
    anchors.subjects,
    anchors.directions,
    anchors.exchanged,
)


class WindowPlace(NamedTuple):
    """The text that says most of a claim, the window in it, and how much of the claim it says."""

    number: int
    said: float
    found: Coverage
    against: list[Reason]


class Looked(NamedTuple):
    """What was found of a claim: nothing (`place` None) where it or the texts have no words.

    `doubts` are the signs for which it cannot be called supported; `scant` says that too
    little of a short claim is there. `features` has the shape (10,).
    """

    features: NDArray[np.float64]
    place: WindowPlace | None
    doubts: list[Reason]
    scant: bool

    @property
    def doubtful(self) -> bool:
        """Whether the probability stays below 0.5 whatever the weights."""
        return bool(self.doubts) or self.scant


def look(view: ClaimView, pool: WordPool) -> Looked:
    """Compare a claim with its texts."""
    place = _place(view, pool) if view.items else None
    if place is None:
        return Looked(np.zeros(len(NAMES)), None, [], False)
    doubts = [*reasons.find_missing(place.found, pool), *place.against]
    if find_refusal(view.text):
        doubts = [Reason(ReasonKind.DECLINES, "the claim declines to answer")]
    scant = place.said < _WHOLE and len(view.items) <= _SHORT
    return Looked(features(view, pool, place.said, len(place.against)), place, doubts, scant)


def _place(view: ClaimView, pool: WordPool) -> WindowPlace | None:
    """Of texts that say nearly as much as the best, the first that does not contradict the claim.

    None where no text has a sentence.
    """
    ranked = presence.ranked(view, pool.texts)
    first: WindowPlace | None = None
    for said, number, found in ranked[:_TRIED]:
        if said < ranked[0][0] - _NEARLY:
            break
        place = WindowPlace(number, said, found, _against(found, said))
        if not place.against:
            return place
        first = first or place
    return first


def _against(found: Coverage, said: float) -> list[Reason]:
    if said < _READ or not 0 < len(found.view.tokens) <= _CHECKED:
        return []
    reading = contradictions.ContradictionView.of(found)
    against = list(reasons.find_misplaced(found))
    against += [why for check in _CHECKS if (why := check(reading))]
    other = None if against else slots.contradicted(found)
    return [*against, other] if other else against
