"""Passages in memory and an encoder without a model, for tests of dense retrieval on disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

import numpy as np

from trueground.encoders.base import Floats, Pair
from trueground.types import Passage


class Shelf:
    """`base.Passages` over a list of (title, text)."""

    def __init__(self, passages: Sequence[Pair]) -> None:
        self._passages = passages
        self.texts = [text for _, text in passages]
        self.searched = [f"{title} {text}" if title else text for title, text in passages]
        self.sha256 = sha256(repr(list(passages)).encode()).hexdigest()

    def __len__(self) -> int:
        return len(self._passages)

    def __getitem__(self, index: int) -> Passage:
        title, text = self._passages[index]
        return Passage(text, id=str(index), title=title or None)

    def page_keys(self, index: int) -> frozenset[str]:
        return frozenset({self._passages[index][0]})


@dataclass
class Clusters:
    """A vector for a text that is a number: near one of 40 centers, of any length."""

    name: str = "clusters"
    width: int = 24
    similarity: str = "dot"
    space: str = "clusters"
    signature: str = "clusters-cpu"
    only: str | None = None
    window: int = 512
    specials: int = 0
    # Called before each block of passages.
    before: Callable[[], None] = lambda: None
    seen: list[str] = field(default_factory=list)

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return [1 for _ in texts]

    def encode(self, texts: Sequence[str]) -> Floats:
        if not texts:
            return np.empty((0, self.width), np.float32)
        return np.array([self._one(text) for text in texts], np.float32)

    def encode_queries(self, queries: Sequence[Sequence[str]]) -> Floats:
        return self.encode([question for *_, question in queries])

    def encode_passages(self, passages: Sequence[Pair]) -> Floats:
        self.before()
        self.seen += [text for _, text in passages]
        return self.encode([text for _, text in passages])

    def close(self) -> None:
        pass

    def _one(self, text: str) -> Floats:
        number = int(text)
        center = np.random.default_rng(number % 40).standard_normal(self.width)
        drawn = np.random.default_rng(1_000 + number)
        vector = center + 0.4 * drawn.standard_normal(self.width)
        if self.similarity == "cosine":
            vector /= np.linalg.norm(vector)
        else:
            vector *= drawn.uniform(0.8, 1.2)
        return vector.astype(np.float32)


def numbered(count: int, start: int = 0) -> Shelf:
    """Passages whose texts are numbers, every tenth the same as the one before."""
    numbers = range(start, start + count)
    return Shelf([(f"t{n}", str(n - 1 if n % 10 == 9 else n)) for n in numbers])
