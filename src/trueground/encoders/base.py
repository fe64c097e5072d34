"""What an encoder is: texts in, numbers out; the same numbers whatever else is asked with them.

A row's numbers depend on its own tokens only, not on its neighbours in a batch, the batch size, or
what was asked before: rows are computed in tiles of fixed shape (see `tiles`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Pair = tuple[str, str]


class Windowed(Protocol):
    """What all encoders have.

    `signature` names the weights (revision or hash), the runtime's arithmetic (float32, int8) and
    the window. `window` is the most tokens of one input, special tokens included; `specials` how
    many of them special tokens take.
    """

    name: str
    signature: str
    window: int
    specials: int

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without special tokens and without truncation."""
        ...

    def close(self) -> None:
        """Give memory back; asking again loads anew."""
        ...


class TextEncoder(Windowed, Protocol):
    """A bi-encoder: one vector for a text."""

    def encode(self, texts: Sequence[str]) -> Floats:
        """Unit vectors, shape (n, d). A text beyond the window is cut off at it."""
        ...


class PairScorer(Windowed, Protocol):
    """A model that reads two texts together: a cross-encoder, or a classifier of entailment.

    `labels` are the names of its outputs, lower case; a cross-encoder has one.
    """

    labels: tuple[str, ...]

    def scores(self, pairs: Sequence[Pair]) -> Floats:
        """Raw logits, shape (n, len(labels)). The second text is cut off at the window."""
        ...


class TextToText(Windowed, Protocol):
    """A sequence-to-sequence model that is asked for one word."""

    def first_token(self, prompts: Sequence[str], words: Sequence[str]) -> Floats:
        """Raw logits of each word as the first token of the answer, shape (n, len(words)).

        UsageError for a word that is not one token. A prompt is cut off at the window.
        """
        ...
