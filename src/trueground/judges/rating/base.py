"""What a rater is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from trueground.judges.base import each_once
from trueground.models.asker import Spent
from trueground.models.prompts import PromptFile
from trueground.types import Rating, RatingRequest, Status


@runtime_checkable
class Rater(Protocol):
    """Rates responses by asking a language model.

    `signature` names the model and every option that can change a rating. `prompts` are the rubrics
    that were asked with so far; `spent` is what asking has cost.
    """

    name: str

    @property
    def signature(self) -> str: ...

    @property
    def prompts(self) -> tuple[PromptFile, ...]: ...

    @property
    def spent(self) -> Spent: ...

    def rate(self, requests: Sequence[RatingRequest]) -> list[Rating]:
        """Return one rating for each request, in their order."""
        ...

    def close(self) -> None:
        """Give connections back."""
        ...


def rate(
    rater: Rater, requests: Sequence[RatingRequest], known: dict[RatingRequest, Rating]
) -> list[Rating]:
    """Rate every different request once; one rating for each request, in their order.

    Those in `known`, which takes the others, are not asked again. A request on which the rater
    fails has the status `error`. Raises ProtocolError where it gives another number of ratings.
    """

    def lost(reason: str) -> Rating:
        return Rating(status=Status.ERROR, reason=reason)

    who = f"the rater {rater.name!r}"
    return each_once(who, "ratings", rater.rate, requests, lost, known)[0]
