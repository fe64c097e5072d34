"""The bi-encoder judge: the cosine of a claim's vector and that of a passage."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trueground.encoders import text_encoder
from trueground.encoders.base import Floats, Pair, TextEncoder
from trueground.encoders.options import encoder_options
from trueground.judges.encoding import given_or, made
from trueground.judges.windowed import WindowedJudge
from trueground.plugins import PartSpec

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
THRESHOLD = 0.4  # Truly-Ground, appendix A: the highest agreement with people
_ROWS = 4096


def bi_encoder(given: PartSpec | None = None) -> WindowedJudge:
    """Cosine of two vectors of a small model: says what a text is about, not what it denies."""
    given = given_or("bi-encoder", given)
    encoder = text_encoder(given.model or MODEL, encoder_options(given))
    return made(given, VectorReader(encoder), THRESHOLD)


class VectorReader:
    """Claims and windows each have a vector, made once; the score is their cosine."""

    score_name = "similarity"
    options = ""
    probable = False
    joins = True

    def __init__(self, encoder: TextEncoder) -> None:
        self.encoder = encoder

    def rooms(self, claims: Sequence[str]) -> list[int]:
        """A window stands by itself, and so does the claim."""
        room = self.encoder.window - self.encoder.specials
        return [room if length <= room else 0 for length in self.encoder.lengths(claims)]

    def fits(self, pairs: Sequence[Pair]) -> list[bool]:
        """A window was counted as it is read."""
        return [True] * len(pairs)

    def scores(self, pairs: Sequence[Pair]) -> Floats:
        """Cosines, shape (n,)."""
        rows: dict[str, int] = {}
        for text in (text for pair in pairs for text in pair):
            rows.setdefault(text, len(rows))
        vectors = self.encoder.encode(list(rows))
        places = np.array([(rows[claim], rows[window]) for claim, window in pairs])
        scores = np.empty(len(pairs), np.float32)
        for low in range(0, len(pairs), _ROWS):
            left, right = vectors[places[low : low + _ROWS].T].astype(np.float64)
            # Not a matrix product: its last digit depends on how many rows there are.
            scores[low : low + _ROWS] = (left * right).sum(axis=1)
        return scores
