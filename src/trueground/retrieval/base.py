"""What a retriever is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Hit(NamedTuple):
    """A passage that was found: its number in the corpus, and the retriever's own score."""

    index: int  # type: ignore[assignment]  # hides tuple.index
    score: float


class Retriever(Protocol):
    """Finds the passages of one corpus that are nearest to a query.

    `signature` names the method, its options and its model, not the corpus.
    """

    name: str
    signature: str

    def search(self, queries: Sequence[str], top: int) -> list[list[Hit]]:
        """For each query at most `top` hits, best first; equal scores in corpus order."""
        ...
