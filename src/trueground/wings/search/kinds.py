"""The retrievers there are, and how one is written; hybrid and multi-hop, put together from others.

`bm25`, `bm25(k1=0.9,b=0.4)`, `dense:MODEL(index=hnsw)` keep files of their own in an index;
`hybrid:"A + B"(k=60)` and `multi-hop:"A"(hops=2)` are put together from such. What is written
within quotes uses the other quotes.

Sources: Cormack, Clarke and Büttcher 2009, "Reciprocal rank fusion outperforms Condorcet and
individual rank learning methods"; Xiong et al. 2021, "Answering complex open-domain questions with
multi-hop dense retrieval", section 2: the query of a hop is the question and the passages found
before it, a chain's score is the sum of its hops' scores.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from trueground.components import ComponentSpec, Registry
from trueground.errors import UsageError
from trueground.wings.search import results
from trueground.wings.search.base import OpenedRetriever, Retriever, RetrieverKind
from trueground.wings.search.compound import BEAM, DEPTH, HOPS, Hybrid, K, MultiHop
from trueground.wings.search.store import PassageStore

Factory = Callable[[], RetrieverKind]
_PLUS = re.compile(r"\s\+\s")
# A name, with or without options, and a + right behind it: no retriever is so called.
_TIGHT = re.compile(r"[A-Za-z_][\w-]*\s*(?:\([^()]*\))?\s*\+")
_EXAMPLES = {"hybrid": "bm25 + dense:MODEL", "multi-hop": "dense:MODEL"}
_SHOWN: dict[str, dict[str, Any]] = {
    "bm25": {"name": "bm25", "extra": "retrieval"},
    "dense": {"name": "dense:MODEL", "extra": "onnx or hf; retrieval for hnsw and ivf"},
    "hybrid": {"name": 'hybrid:"A + B"'},
    "multi-hop": {"name": 'multi-hop:"A"'},
    results.NAME: {"name": f"{results.NAME}:RESULTS"},
}


def _bm25() -> RetrieverKind:
    """Words in common, weighted by how rare they are (BM25)."""
    from trueground.wings.search.bm25 import BM25_KIND

    return BM25_KIND


def _dense() -> RetrieverKind:
    """Vectors that an encoder makes: DPR, Contriever, sentence-transformers."""
    from trueground.wings.search.dense import DENSE_KIND

    return DENSE_KIND


def _hybrid(given: ComponentSpec, parts: Sequence[Retriever], _passages: PassageStore) -> Retriever:
    """Several retrievers' lists in one, by reciprocal rank."""
    given.check(("k", "depth"))
    return Hybrid(parts, k=given.number("k", K, 0) or 0.0, depth=given.whole("depth", DEPTH))


def _multi_hop(
    given: ComponentSpec, parts: Sequence[Retriever], passages: PassageStore
) -> Retriever:
    """Searches again with the question and what was found: chains of passages."""
    given.check(("hops", "beam", "passages"))
    if len(parts) > 1:
        raise UsageError(
            "the retriever multi-hop searches with one retriever, and was given "
            f"{len(parts)}; write multi-hop:\"hybrid:'A + B'\""
        )
    shown = given.text("passages", "text", ("text", "titled"))
    hops, beam = given.whole("hops", HOPS), given.whole("beam", BEAM)
    texts = passages.searched if shown == "titled" else passages.texts
    return MultiHop(parts[0], texts, shown=shown, hops=hops, beam=beam)


# What keeps files, and what is put together from such.
_RETRIEVERS: dict[str, Factory] = {"bm25": _bm25, "dense": _dense}
retrievers = Registry("retriever", _RETRIEVERS)
_COMPOUNDS: dict[str, Callable[[ComponentSpec, Sequence[Retriever], PassageStore], Retriever]] = {
    "hybrid": _hybrid,
    "multi-hop": _multi_hop,
}


def retriever(name: str) -> Callable[[Factory], Factory]:
    """Decorator: register a function without arguments giving a `RetrieverKind`, under a name.

    A search of its retriever with a smaller `top` must give the beginning of one with a larger; a
    retriever that cannot promise that has an attribute `nested = False`.
    """

    def register(factory: Factory) -> Factory:
        if name in (*_COMPOUNDS, results.NAME):
            raise UsageError(f"a retriever named {name!r} exists already; choose another name")
        retrievers.register(name, factory)
        return factory

    return register


def kinds() -> list[dict[str, Any]]:
    """Every kind of retriever: `name` as a user writes it, `doc` in one line, `extra` or None."""
    docs = {name: kind.__doc__ for name, kind in (*retrievers.load().items(), *_COMPOUNDS.items())}
    docs[results.NAME] = "Results that were found elsewhere: DPR's ctxs, a TREC run"
    return [
        {"name": name, "doc": (doc or "").strip().partition("\n")[0], "extra": None}
        | _SHOWN.get(name, {})
        for name, doc in docs.items()
    ]


def bases(written: str) -> list[str]:
    """The parts of a retriever that keep files of their own, each once. UsageError.

    All of what was written is checked: names, options and how it is put together.
    """
    found: dict[str, None] = {}

    def note(given: ComponentSpec) -> OpenedRetriever:
        found[given.written] = None
        kind_of(given).folder(given)
        return OpenedRetriever(_Placeholder(given.name))

    compose(written, note, PassageStore(None))
    return list(found)


class _Placeholder:
    """Stands for a retriever while what was written is checked."""

    def __init__(self, name: str) -> None:
        self.name = self.signature = name

    def search(self, queries: Sequence[str], top: int) -> list[list[Any]]:
        return [[] for _ in queries]


def kind_of(given: ComponentSpec) -> RetrieverKind:
    """The kind of a part that keeps files. UsageError with near names where there is none."""
    if given.name not in retrievers:
        retrievers.load_component(given.name)
    if given.name not in retrievers:
        retrievers.load()
    if given.name not in retrievers:
        raise UsageError.unknown_name(
            "retriever", given.name, (*retrievers, *_COMPOUNDS, results.NAME)
        )
    return retrievers[given.name]()


def compose(
    written: str, open_base: Callable[[ComponentSpec], OpenedRetriever], passages: PassageStore
) -> OpenedRetriever:
    """The retriever as written, over these passages; `open_base` opens its parts that keep files.

    UsageError: what cannot be read, an unknown name or option.
    """
    given = ComponentSpec.parse("retriever", written)
    if given.name == results.NAME:
        return OpenedRetriever(results.ResultsRetriever(given, passages))
    if given.name not in _COMPOUNDS:
        return open_base(given)
    inner = _split(given)
    with ExitStack() as stack:
        parts = []
        for part in inner:
            opened = compose(part, open_base, passages)
            stack.callback(opened.close)
            parts.append(opened.retriever)
        compound = _COMPOUNDS[given.name](given, parts, passages)
        return OpenedRetriever(compound, stack.pop_all().close)


def open_over(written: str, passages: PassageStore) -> OpenedRetriever:
    """The retriever as written, over passages in memory and without files.

    Titles are searched too, as in an index. Indexes and vectors are made with the first search.
    UsageError, InputError, MissingExtraError.
    """

    def open_base(given: ComponentSpec) -> OpenedRetriever:
        kind = kind_of(given)
        if kind.over is None:
            others = (name for name, factory in retrievers.items() if factory().over is not None)
            raise UsageError(
                f"the retriever {given.name} keeps files, and here passages are searched in "
                f"memory; expected one of {', '.join((*others, *_COMPOUNDS))}"
            )
        return kind.over(given, passages)

    return compose(written, open_base, passages)


def _split(given: ComponentSpec) -> list[str]:
    """What a retriever is put together from: its model, split at each ` + ` outside quotes and
    parentheses. UsageError where nothing is named.
    """
    example = f'write {given.name}:"{_EXAMPLES[given.name]}"'
    if given.model is None:
        raise UsageError(
            f"the retriever {given.name} is put together from others, and none is named; {example}"
        )
    ends = [match.span() for match in _PLUS.finditer(ComponentSpec.mask_quoted(given.model))]
    cuts = zip([0, *(end for _, end in ends)], [*(at for at, _ in ends), None], strict=True)
    parts = [given.model[start:end].strip() for start, end in cuts]
    if not all(parts):
        raise UsageError(
            f"the retriever {given.name}: found nothing on one side of a + in {given.model!r}; "
            f"{example}"
        )
    if tight := [part for part in parts if _TIGHT.match(part)]:
        raise UsageError(
            f"the retriever {given.name}: found {tight[0]!r}; expected a blank on each side of the "
            f"+ between two retrievers; {example}"
        )
    return parts
