"""What a decomposer is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from trueground.types import Claim, Failure

Decomposed = list[Claim] | Failure


@runtime_checkable
class Decomposer(Protocol):
    """Turns texts into the statements that can be checked by themselves.

    `signature` names the decomposer and the version of its rules: equal signatures, equal claims.
    A decomposer that asks a language model also has `prompts`, `spent` and `close` (see
    `trueground.models.asker`).
    """

    @property
    def name(self) -> str:
        """The name under which it is registered."""
        ...

    @property
    def signature(self) -> str:
        """Everything that fixes its claims."""
        ...

    def decompose(self, texts: Sequence[str]) -> Sequence[Decomposed]:
        """Return the claims of each text, in text order; a text without statements has none.

        A Failure stands for a text whose claims could not be had.
        """
        ...
