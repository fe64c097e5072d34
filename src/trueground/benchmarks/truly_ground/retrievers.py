"""The retriever that --retriever names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from trueground.encoders import text_encoder
from trueground.encoders.options import encoder_options
from trueground.errors import UsageError, unknown_name
from trueground.plugins import Given, read_given
from trueground.retrieval.base import Retriever
from trueground.retrieval.bm25 import BM25
from trueground.retrieval.dense import Dense


class Opened(NamedTuple):
    """A retriever, and what gives the memory of its model back."""

    retriever: Retriever
    close: Callable[[], None]


def open_retriever(written: str, texts: Sequence[str]) -> Opened:
    """`bm25` or `dense:MODEL`, with options as in `bm25(stem=true)`, over `texts`.

    Indexes and vectors are made with the first search. Raises UsageError, InputError,
    MissingExtraError.
    """
    given = read_given("retriever", written)
    if given.name not in _RETRIEVERS:
        raise unknown_name("retriever", given.name, _RETRIEVERS)
    return _RETRIEVERS[given.name](given, texts)


def _bm25(given: Given, texts: Sequence[str]) -> Opened:
    given.see(("stem", "k1", "b"), model=False)
    made = BM25(
        texts,
        stem=given.text("stem", "false", ("true", "false")) == "true",
        k1=given.number("k1", 1.5) or 0.0,
        b=given.number("b", 0.75) or 0.0,
    )
    return Opened(made, lambda: None)


def _dense(given: Given, texts: Sequence[str]) -> Opened:
    given.see(("backend", "dtype", "device", "file", "revision", "batch_rows", "window"))
    if given.model is None:
        raise UsageError(
            "the retriever dense needs a model, a bi-encoder's folder or name: dense:MODEL"
        )
    encoder = text_encoder(given.model, encoder_options(given))
    return Opened(Dense(texts, encoder), encoder.close)


_RETRIEVERS: dict[str, Callable[[Given, Sequence[str]], Opened]] = {
    "bm25": _bm25,
    "dense": _dense,
}
