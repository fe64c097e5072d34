"""Dense retrieval: the cosine of vectors that an encoder makes, searched exactly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from trueground.encoders.base import Floats, TextEncoder
from trueground.errors import ProtocolError
from trueground.retrieval.base import Hit
from trueground.retrieval.bm25.memory import TITLED
from trueground.retrieval.dense.exact import nearest

_ENCODED = 16_384  # texts that the encoder gets at once, so that it can sort them by length
_BLOCK = 8_192  # passages whose scores are in memory at once
_QUERIES = 64
# More than float32 products of unit vectors can be off by; those closer are compared exactly.
_MARGIN = 1e-4


class Dense:
    """Cosine between queries and `texts`, over all of them.

    The texts are encoded with the first search and kept as float32, n · d · 4 bytes. The order is
    that of the products in float64, so it depends neither on what else is asked nor on the machine.
    """

    name = "dense"

    def __init__(self, texts: Sequence[str], encoder: TextEncoder, *, titled: bool = False) -> None:
        """`titled`: the texts begin with their titles, which the signature tells."""
        self.signature = f"dense:cosine{TITLED * titled},{encoder.signature}"
        self._texts = texts
        self._encoder = encoder
        self._vectors: Floats | None = None

    def search(self, queries: Sequence[str], top: int) -> list[list[Hit]]:
        """For each query at most `top` hits, best first; equal scores in corpus order.

        ProtocolError where the encoder gives no unit vector for a text.
        """
        top = min(top, len(self._texts))
        if top < 1 or not queries:
            return [[] for _ in queries]
        if self._vectors is None:
            self._vectors = self._encode(self._texts)
        asked = self._encode(queries)
        return [
            hits
            for start in range(0, len(queries), _QUERIES)
            for hits in self._nearest(self._vectors, asked[start : start + _QUERIES], top)
        ]

    def _nearest(self, vectors: Floats, asked: Floats, top: int) -> Iterator[list[Hit]]:
        margin = np.full(len(asked), _MARGIN, np.float32)
        return nearest(vectors, asked, top, margin, _BLOCK)

    def _encode(self, texts: Sequence[str]) -> Floats:
        vectors: Floats | None = None
        for start in range(0, len(texts), _ENCODED):
            part = list(texts[start : start + _ENCODED])
            found = self._encoder.encode(part)
            self._check(found, len(part))
            if vectors is None:
                vectors = np.empty((len(texts), found.shape[1]), np.float32)
            vectors[start : start + len(part)] = found
        assert vectors is not None
        return vectors

    def _check(self, vectors: Floats, expected: int) -> None:
        name = self._encoder.name
        if vectors.ndim != 2 or len(vectors) != expected:
            raise ProtocolError(
                f"the encoder {name!r} gave an array of shape {vectors.shape} for {expected} texts;"
                " it must give one vector for each"
            )
        lengths = np.linalg.norm(vectors, axis=1)
        if not np.all(np.abs(lengths - 1) < 1e-3):
            wrong = int(np.argmin(np.abs(lengths - 1) < 1e-3))
            raise ProtocolError(
                f"the encoder {name!r} gave a vector of length {lengths[wrong]:g} for text "
                f"{wrong}; it must give unit vectors"
            )
