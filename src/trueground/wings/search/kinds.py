"""The kinds of retrievers, and their specs; hybrid and multi-hop retrievers combine others.

`bm25`, `bm25(k1=0.9,b=0.4)` and `dense:MODEL(index=hnsw)` keep files in an index.
`hybrid:"A + B"(k=60)` and `multi-hop:"A"(hops=2)` combine such retrievers. Inside quotes, a spec
uses the other kind of quotes.

Sources: Cormack, Clarke and Büttcher 2009, "Reciprocal rank fusion outperforms Condorcet and
individual rank learning methods"; Xiong et al. 2021, "Answering complex open-domain questions with
multi-hop dense retrieval", section 2. The query of a hop is the question and the passages of
earlier hops. The score of a chain is the sum of the scores of its hops.
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
# A name, with or without options, and a + without a space before it.
_MISSING_SPACE = re.compile(r"[A-Za-z_][\w-]*\s*(?:\([^()]*\))?\s*\+")
_EXAMPLES = {"hybrid": "bm25 + dense:MODEL", "multi-hop": "dense:MODEL"}
_LISTED_AS: dict[str, dict[str, Any]] = {
    "bm25": {"name": "bm25", "extra": "retrieval"},
    "dense": {"name": "dense:MODEL", "extra": "onnx or hf; retrieval for hnsw and ivf"},
    "hybrid": {"name": 'hybrid:"A + B"'},
    "multi-hop": {"name": 'multi-hop:"A"'},
    results.NAME: {"name": f"{results.NAME}:RESULTS"},
}


def _bm25() -> RetrieverKind:
    """Shared words, weighted by how rare they are (BM25)."""
    from trueground.wings.search.bm25 import BM25_KIND

    return BM25_KIND


def _dense() -> RetrieverKind:
    """Vectors of an encoder: DPR, Contriever, sentence-transformers."""
    from trueground.wings.search.dense import DENSE_KIND

    return DENSE_KIND


def _hybrid(spec: ComponentSpec, parts: Sequence[Retriever], _passages: PassageStore) -> Retriever:
    """Fuse the hits of several retrievers by reciprocal rank."""
    spec.check(("k", "depth"))
    return Hybrid(parts, k=spec.number("k", K, 0) or 0.0, depth=spec.whole("depth", DEPTH))


def _multi_hop(
    spec: ComponentSpec, parts: Sequence[Retriever], passages: PassageStore
) -> Retriever:
    """Search again with the question and the hits: chains of passages."""
    spec.check(("hops", "beam", "passages"))
    if len(parts) > 1:
        raise UsageError(
            f"the retriever multi-hop needs one retriever, found {len(parts)}; to combine several, "
            "write multi-hop:\"hybrid:'A + B'\""
        )
    passage_text = spec.text("passages", "text", ("text", "titled"))
    hops, beam = spec.whole("hops", HOPS), spec.whole("beam", BEAM)
    texts = passages.searched if passage_text == "titled" else passages.texts
    return MultiHop(parts[0], texts, passage_text=passage_text, hops=hops, beam=beam)


# Retrievers that keep files, and retrievers that combine others.
_RETRIEVERS: dict[str, Factory] = {"bm25": _bm25, "dense": _dense}
retrievers = Registry("retriever", _RETRIEVERS)
_COMPOUNDS: dict[str, Callable[[ComponentSpec, Sequence[Retriever], PassageStore], Retriever]] = {
    "hybrid": _hybrid,
    "multi-hop": _multi_hop,
}


def retriever(name: str) -> Callable[[Factory], Factory]:
    """Register a function that returns a `RetrieverKind`, as a decorator.

    A search with a smaller `top` must return the beginning of a search with a larger one. If a
    retriever can't guarantee that, its attribute `nested` has to be False.

    Args:
        name: The name of the retriever in specs.

    Returns:
        The decorator, for a function without arguments.

    Raises:
        UsageError: The name is taken.

    Example:
        >>> import trueground as tg
        >>> @tg.retriever("my-search")
        ... def make_kind():
        ...     return tg.RetrieverKind(folder, build, open)  # doctest: +SKIP
    """

    def register(factory: Factory) -> Factory:
        if name in (*_COMPOUNDS, results.NAME):
            raise UsageError(f"a retriever named {name!r} exists already; choose another name")
        retrievers.register(name, factory)
        return factory

    return register


def kinds() -> list[dict[str, Any]]:
    """Return every kind of retriever: `name` as users write it, `doc` in one line, `extra`."""
    docs = {name: kind.__doc__ for name, kind in (*retrievers.load().items(), *_COMPOUNDS.items())}
    docs[results.NAME] = "Search results of another tool: DPR's ctxs, a TREC run"
    listed = []
    for name, doc in docs.items():
        summary = (doc or "").strip().partition("\n")[0]
        listed.append({"name": name, "doc": summary, "extra": None} | _LISTED_AS.get(name, {}))
    return listed


def bases(spec_text: str) -> list[str]:
    """Return the specs of a retriever's components that keep files, without duplicates.

    The whole spec is checked: names, options and combinations. Raises UsageError.
    """
    components: dict[str, None] = {}

    def add_component(spec: ComponentSpec) -> OpenedRetriever:
        components[spec.written] = None
        kind_of(spec).folder(spec)
        return OpenedRetriever(_Placeholder(spec.name))

    compose(spec_text, add_component, PassageStore(None))
    return list(components)


class _Placeholder:
    """Takes the place of a retriever while a spec is checked."""

    def __init__(self, name: str) -> None:
        self.name = self.signature = name

    def search(self, queries: Sequence[str], top: int) -> list[list[Any]]:
        return [[] for _ in queries]


def kind_of(spec: ComponentSpec) -> RetrieverKind:
    """Return the kind of a component that keeps files. Raises UsageError for an unknown name."""
    if spec.name not in retrievers:
        retrievers.load_component(spec.name)
    if spec.name not in retrievers:
        retrievers.load()
    if spec.name not in retrievers:
        raise UsageError.unknown_name(
            "retriever", spec.name, (*retrievers, *_COMPOUNDS, results.NAME)
        )
    return retrievers[spec.name]()


def compose(
    spec_text: str, open_base: Callable[[ComponentSpec], OpenedRetriever], passages: PassageStore
) -> OpenedRetriever:
    """Open a retriever over passages.

    Args:
        spec_text: The retriever as a user writes it.
        open_base: Opens a component that keeps files.
        passages: The passages.

    Raises:
        UsageError: The spec can't be parsed, or has an unknown name or option.
    """
    spec = ComponentSpec.parse("retriever", spec_text)
    if spec.name == results.NAME:
        return OpenedRetriever(results.ResultsRetriever(spec, passages))
    if spec.name not in _COMPOUNDS:
        return open_base(spec)
    with ExitStack() as stack:
        parts = []
        for part_text in _split(spec):
            opened = compose(part_text, open_base, passages)
            stack.callback(opened.close)
            parts.append(opened.retriever)
        compound = _COMPOUNDS[spec.name](spec, parts, passages)
        return OpenedRetriever(compound, stack.pop_all().close)


def open_over(spec_text: str, passages: PassageStore) -> OpenedRetriever:
    """Open a retriever over passages in memory, without files.

    Titles are searched too, as in an index. Indexes and vectors are made by the first search.

    Raises:
        UsageError: The retriever isn't valid, or needs files.
        InputError: Files of the retriever can't be read.
        MissingExtraError: It needs an optional package.
    """

    def open_base(spec: ComponentSpec) -> OpenedRetriever:
        kind = kind_of(spec)
        if kind.over is None:
            names = [name for name, factory in retrievers.items() if factory().over is not None]
            raise UsageError(
                f"the retriever {spec.name} needs an index on disk, but these passages are in "
                f"memory; expected one of {', '.join((*names, *_COMPOUNDS))}"
            )
        return kind.over(spec, passages)

    return compose(spec_text, open_base, passages)


def _split(spec: ComponentSpec) -> list[str]:
    """Split the model of a combined retriever at each ` + ` outside quotes and parentheses."""
    example = f'write {spec.name}:"{_EXAMPLES[spec.name]}"'
    if spec.model is None:
        raise UsageError(
            f"the retriever {spec.name} combines other retrievers, but none is named; {example}"
        )
    parts = []
    start = 0
    for plus in _PLUS.finditer(ComponentSpec.mask_quoted(spec.model)):
        parts.append(spec.model[start : plus.start()].strip())
        start = plus.end()
    parts.append(spec.model[start:].strip())
    for part in parts:
        if not part:
            raise UsageError(
                f"the retriever {spec.name}: found nothing on one side of a + in {spec.model!r}; "
                f"{example}"
            )
        if _MISSING_SPACE.match(part):
            raise UsageError(
                f"the retriever {spec.name}: found {part!r}; expected a space on each side of the "
                f"+ between two retrievers; {example}"
            )
    return parts
