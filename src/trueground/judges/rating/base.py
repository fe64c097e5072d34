"""What a rater is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from trueground.models.asker import Spent
from trueground.models.prompts import PromptFile
from trueground.types import Rating, RatingRequest


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
