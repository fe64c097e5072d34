"""Bi-encoders of questions and passages, for retrieval: DPR, Contriever and others.

DPR (Karpukhin et al. 2020, section 3) has one encoder for questions and one for passages. It was
trained with title and text of a passage as a pair, and with all tokens of type 0. Contriever
(Izacard et al. 2022) and the models of sentence-transformers read "title text".
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trueground.encoders.base import Floats, Pair, PassageEncoder
from trueground.encoders.cached import CachedTextEncoder, Store
from trueground.encoders.kinds import is_dpr, only_dpr
from trueground.encoders.making import BiEncoder
from trueground.encoders.options import EncoderOptions


class _PassageEncoder(CachedTextEncoder):
    """Questions are kept, passages are not; see `base.PassageEncoder`."""

    def __init__(self, inner: BiEncoder, store: Store) -> None:
        super().__init__(inner, store)
        self._encoder = inner
        self.similarity = inner.similarity
        self.space = inner.space
        self.width = inner.width
        config = inner.checkpoint.config
        self._paired = is_dpr(config)
        self.only = only_dpr(config)

    def encode_queries(self, queries: Sequence[Sequence[str]]) -> Floats:
        def compute(places: list[int]) -> Floats:
            return self._encoder.pooled(tokeniser.turns([queries[place] for place in places]))

        tokeniser = self._encoder.tokeniser
        return self.store.rows(queries, self.width, compute)

    def encode_passages(self, passages: Sequence[Pair]) -> Floats:
        tokeniser = self._encoder.tokeniser
        if self._paired:
            return self._encoder.pooled(tokeniser.titled(passages))
        texts = [f"{title} {text}" if title else text for title, text in passages]
        return self._encoder.encode(texts)


def make_passage_encoder(model: str | Path, options: EncoderOptions) -> PassageEncoder:
    """See `trueground.encoders.passage_encoder`."""
    encoder = BiEncoder(str(model), options)
    return _PassageEncoder(encoder, Store(encoder.name, encoder.signature, options.cache))
