"""How near two texts are, token by token: late interaction.

Each token of one text is matched with the nearest token of the other (Khattab & Zaharia 2020,
"ColBERT", section 3), here with the states of a bi-encoder that was not trained for it. What the
least similar tokens of a claim have beside them says most of whether the other text supports it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trueground.encoders.base import Floats, Pair
from trueground.encoders.models import BiEncoder, normalize
from trueground.encoders.tokens import Marked

FEATURES = ("cosine", "late", "late20", "least")
_SHARE = 0.2  # of the first text's tokens: the least similar ones
_BLOCK = 256  # pairs: the states of all their tokens are in memory at once
_DECIMALS = 6  # fewer than a matrix product is sure of


class LateInteraction(BiEncoder):
    """Pairs of texts, and four numbers between -1 and 1 of each; see `compare`."""

    def compare(self, pairs: Sequence[Pair]) -> Floats:
        """FEATURES of each (claim, evidence), shape (n, 4); cached, the same whatever is beside.

        The cosine of the two vectors; of the claim's tokens the mean similarity to the most similar
        token of the evidence, the same over the fifth of them that is least similar, and the least.
        0 where either has no token. Beyond the window a text is cut off.
        """

        def compute(places: list[int]) -> Floats:
            blocks = range(0, len(places), _BLOCK)
            found = [self._compare([pairs[n] for n in places[b : b + _BLOCK]]) for b in blocks]
            return np.concatenate(found)

        keys = [("late-1", *pair) for pair in pairs]
        return self.store.rows(keys, len(FEATURES), compute)

    def _compare(self, pairs: Sequence[Pair]) -> Floats:
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        marked = self.tokeniser.marked(texts)
        states = self.states_of([one.row for one in marked], self.width)
        vectors = {
            text: self._vectors_of(own, one)
            for text, own, one in zip(texts, states, marked, strict=True)
        }
        return np.array([_features(*vectors[a], *vectors[b]) for a, b in pairs], np.float32)

    def _vectors_of(self, states: Floats, marked: Marked) -> tuple[Floats, Floats]:
        """The unit vector of the text, shape (width,), and those of its own tokens, (n, width)."""
        mask = np.ones((1, len(states)), np.int64)
        return normalize(self._pool(states[None], mask))[0], normalize(states[~marked.special])


def _features(claim: Floats, words: Floats, text: Floats, others: Floats) -> NDArray[np.float64]:
    if not len(words) or not len(others):
        return np.zeros(len(FEATURES))
    nearest = np.sort((words.astype(np.float64) @ others.astype(np.float64).T).max(axis=1))
    fifth = nearest[: max(1, round(_SHARE * len(nearest)))]
    cosine = claim.astype(np.float64) @ text
    return np.round(np.array([cosine, nearest.mean(), fifth.mean(), nearest[0]]), _DECIMALS)
