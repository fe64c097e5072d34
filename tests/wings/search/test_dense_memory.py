"""Dense retrieval against a full sort, with a small encoder that hashes words."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import numpy as np
import pytest

from trueground.encoders.base import Floats
from trueground.encoders.models import BiEncoder
from trueground.errors import ProtocolError
from trueground.wings.search import vectors as vectors_module
from trueground.wings.search.base import Retriever
from trueground.wings.search.vectors import Dense


class WordEncoder:
    """The sum of a seeded random vector for each word, at unit length."""

    name = "words"
    signature = "words-32"
    window = 512
    specials = 0

    def __init__(self) -> None:
        self.seen: list[str] = []

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def encode(self, texts: Sequence[str]) -> Floats:
        self.seen += texts
        rows = [
            sum((_vector(word) for word in f"_ {text}".split()), np.zeros(32)) for text in texts
        ]
        made = np.array(rows).reshape(len(rows), 32)
        return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)

    def close(self) -> None:
        self.seen.clear()


def _vector(word: str) -> np.ndarray:
    return np.random.default_rng(sha256(word.encode()).digest()[0]).standard_normal(32)


def some_texts(n: int) -> list[str]:
    rng = np.random.default_rng(0)
    return [" ".join(f"w{k}" for k in rng.integers(0, 30, rng.integers(1, 6))) for _ in range(n)]


def test_it_is_a_retriever() -> None:
    encoder: BiEncoder = WordEncoder()
    retriever: Retriever = Dense(["a"], encoder)
    assert retriever.name == "dense"
    assert encoder.signature in retriever.signature


def test_the_order_is_that_of_a_full_sort_whatever_the_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts, queries = some_texts(300), some_texts(9)
    vectors = WordEncoder().encode(texts).astype(np.float64)
    asked = WordEncoder().encode(queries)
    exact = [(vectors * query).sum(axis=1) for query in asked]
    for block, tile, part in ((8_192, 64, 16_384), (7, 2, 50), (1, 1, 1)):
        monkeypatch.setattr(vectors_module, "_PASSAGES_PER_PRODUCT", block)
        monkeypatch.setattr(vectors_module, "_QUERIES_PER_BATCH", tile)
        monkeypatch.setattr(vectors_module, "_TEXTS_PER_ENCODING", part)
        for top in (1, 10, 300, 1_000):
            found = Dense(texts, WordEncoder()).search(queries, top)
            for hits, scores in zip(found, exact, strict=True):
                order = np.argsort(-scores, kind="stable")[:top]
                assert [hit.index for hit in hits] == order.tolist()
                assert [hit.score for hit in hits] == scores[order].tolist()


def test_equal_texts_come_in_corpus_order() -> None:
    texts = ["red", "blue", "red", "red", "blue"] * 40
    whole = [hit.index for hit in Dense(texts, WordEncoder()).search(["red"], 500)[0]]
    assert whole[:120] == [i for i, text in enumerate(texts) if text == "red"]
    for top in (1, 5, 119):
        hits = Dense(texts, WordEncoder()).search(["red"], top)[0]
        assert [hit.index for hit in hits] == whole[:top]


def test_texts_are_encoded_once_and_not_before_the_first_search() -> None:
    encoder = WordEncoder()
    retriever = Dense(["a", "b"], encoder)
    assert encoder.seen == []
    retriever.search(["a"], 1)
    retriever.search(["b", "c"], 2)
    assert encoder.seen == ["a", "b", "a", "b", "c"]


def test_nothing_asked_and_nothing_there() -> None:
    assert Dense(["a"], WordEncoder()).search([], 3) == []
    assert Dense(["a"], WordEncoder()).search(["a"], 0) == [[]]
    assert Dense([], WordEncoder()).search(["a", "b"], 3) == [[], []]


def test_an_encoder_that_breaks_its_promise() -> None:
    class Wrong(WordEncoder):
        def encode(self, texts: Sequence[str]) -> Floats:
            return super().encode(texts) * np.float32(2)

    class Short(WordEncoder):
        def encode(self, texts: Sequence[str]) -> Floats:
            return super().encode(texts)[1:]

    with pytest.raises(ProtocolError, match=r"length 2 for text 0.*unit vectors"):
        Dense(["a"], Wrong()).search(["a"], 1)
    with pytest.raises(ProtocolError, match="for 2 texts"):
        Dense(["a", "b"], Short()).search(["a"], 1)
