"""Are the cited triples those of the given graph, and those that the answer needs?

Definitions: metrics.md, "Citations of knowledge-graph triples"; Li et al. 2024, section 4.2. The
variant `reference-code` counts as the authors' own script does, see docs/citations.md; `by_name`
takes the name of one given graph for its id.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from trueground.metrics import (
    BatchContext,
    Counts,
    Metric,
    MetricOption,
)
from trueground.text import Citation, CitedText, GraphTriple, Sentence, plain
from trueground.types import Failure, Graph, Status, Triple

REFERENCE = "reference-code"
_FIRST_ROUND = "first_round_knowledge"
_SOURCE = "Li et al. 2024, section 4.2"
_VARIANTS = {"variant": MetricOption("default", ("default", "by_name", REFERENCE))}
_NEEDS = ("knowledge", "gold_knowledge")
# Hits and units of one item, or why it has none.
Tally = tuple[int, int] | Status | Failure


def cited_sentences(context: BatchContext) -> list[tuple[Sentence, ...]]:
    """Return the sentences of each response with the triples that they cite."""
    batch = context.batch

    def compute() -> list[tuple[Sentence, ...]]:
        pairs = zip(batch.responses, batch.graphs, strict=True)
        return [CitedText(response, graphs or ()).triple_sentences() for response, graphs in pairs]

    return context.once("sentences with cited triples", compute)


def unique(triples: Sequence[Triple]) -> dict[GraphTriple, Triple]:
    """The different triples in their order; empty values are no triples."""
    found: dict[GraphTriple, Triple] = {}
    for triple in triples:
        key = GraphTriple(*triple).key
        if key[2]:
            found.setdefault(key, triple)
    return found


def graph_status(context: BatchContext) -> list[Status | None]:
    """For each item why its citations cannot be scored; None where it has a graph."""
    return [
        Status.MISSING_FIELD if graphs is None else None if graphs else Status.NOT_APPLICABLE
        for graphs in context.batch.graphs
    ]


@dataclass(frozen=True)
class Cited:
    """The citations of an item in their order: the triple of each, and whether a graph has it.

    `needed` is the minimum knowledge set, None where the record gives none.
    """

    keys: list[GraphTriple]
    correct: list[bool]
    needed: dict[GraphTriple, Triple] | None

    @property
    def hits(self) -> list[GraphTriple]:
        """The triples of the correct citations."""
        return [key for key, right in zip(self.keys, self.correct, strict=True) if right]


def _cited(context: BatchContext, variant: str = "default") -> list[Cited]:
    """What each item cites, beside what it was given and needs."""
    by_name, items = variant == "by_name", range(len(context.batch))

    def compute() -> list[Cited]:
        return [_cited_by(context, i, by_name) for i in items]

    return context.once(("cited", by_name), compute)


def _cited_by(context: BatchContext, item: int, by_name: bool) -> Cited:
    batch = context.batch
    graphs = batch.graphs[item] or ()
    known = GraphTriple.keys_of(graphs)
    linked = _linked(graphs) if by_name else {}
    keys = [
        GraphTriple(c.qid or linked.get(plain(c.name).casefold(), ""), c.property, c.value).key
        for sentence in cited_sentences(context)[item]
        for c in sentence.citations
    ]
    gold = batch.gold_knowledge[item]
    correct = [all(key) and key in known for key in keys]
    return Cited(keys, correct, None if gold is None else unique(gold))


def _linked(graphs: Sequence[Graph]) -> dict[str, str]:
    """The ids under the names that only one of them has."""
    ids: dict[str, set[str]] = {}
    for graph in graphs:
        for triple in GraphTriple.of_graph(graph):
            if triple.property == "name":
                key = triple.key
                ids.setdefault(key.value.casefold(), set()).add(key.qid)
    return {name: min(several) for name, several in ids.items() if len(several) == 1}


def first_round(meta: dict[str, Any] | None) -> set[GraphTriple] | Failure:
    """The triples of the minimum set that its first round chose, from `meta`; often none."""
    value = (meta or {}).get(_FIRST_ROUND)
    try:
        triples = msgspec.convert(value, list[tuple[str, str, str]] | None)
    except msgspec.ValidationError:
        shown = repr(value)
        shown = shown if len(shown) < 60 else f"{shown[:57]}…"
        reason = (
            f"meta.{_FIRST_ROUND} is {shown}; expected a list of [qid, property, value] lists of "
            "texts. Correct it or leave it out"
        )
        return Failure(Status.ERROR, reason)
    return {GraphTriple(*triple).key for triple in triples or ()}


def _correctness(context: BatchContext, o: Mapping[str, str]) -> Counts:
    return _count("citation_correctness", _tally_correctness, context, o)


def _precision(context: BatchContext, o: Mapping[str, str]) -> Counts:
    return _count("citation_precision", _tally_precision, context, o)


def _recall(context: BatchContext, o: Mapping[str, str]) -> Counts:
    return _count("citation_recall", _tally_recall, context, o)


def _count(
    name: str,
    tally: Callable[[Cited, BatchContext, int, bool], Tally],
    context: BatchContext,
    o: Mapping[str, str],
) -> Counts:
    """Counts by a tally of (cited, context, item, as the reference code does)."""
    variant = o["variant"]
    reference = variant == REFERENCE

    def compute() -> Counts:
        pairs = zip(_cited(context, variant), graph_status(context), strict=True)
        return Counts.of(
            [why or tally(item, context, i, reference) for i, (item, why) in enumerate(pairs)]
        )

    return context.once((name, variant), compute)


def _tally_correctness(item: Cited, _context: BatchContext, _i: int, _reference: bool) -> Tally:
    return len(item.hits), len(item.keys)


def _tally_precision(item: Cited, _context: BatchContext, _i: int, reference: bool) -> Tally:
    """Without a minimum set nothing can be in it, which says nothing about the answer."""
    if not item.needed:
        return Status.MISSING_FIELD if item.needed is None else Status.NO_CLAIMS
    if reference:
        return len(item.needed.keys() & set(item.keys)), len(item.keys)
    return sum(key in item.needed for key in item.hits), len(item.keys)


def _tally_recall(item: Cited, context: BatchContext, i: int, reference: bool) -> Tally:
    if item.needed is None:
        return Status.MISSING_FIELD
    if not reference:
        return len(item.needed.keys() & set(item.hits)), len(item.needed)
    apart = first_round(context.batch.metas[i])
    if isinstance(apart, Failure):
        return apart
    needed = item.needed.keys() - apart
    return len(needed & set(item.keys)), len(needed)


def citation_details(context: BatchContext, item: int) -> dict[str, Any]:
    """The sentences with their citations, each marked; what is missed, and what is absent.

    Marks are those without a variant. A citation without an id has the `name` that stands in its
    place, and `linked`, the id that `by_name` takes for it (null for none). `needed` is null where
    the record has no minimum set. Places count in the NFC response.
    """
    batch, found = context.batch, _cited(context)[item]
    if not batch.graphs[item]:
        return {}
    marks = iter(zip(found.keys, found.correct, strict=True))
    needed, hits = found.needed, set(found.hits)
    linked = _linked(batch.graphs[item] or ())

    def citation(c: Citation) -> dict[str, Any]:
        key, correct = next(marks)
        name = {} if c.qid else {"name": c.name, "linked": linked.get(plain(c.name).casefold())}
        return name | {
            "qid": c.qid,
            "property": c.property,
            "value": c.value,
            "start": c.start,
            "end": c.end,
            "correct": correct,
            "needed": None if needed is None else key in needed,
        }

    return {
        "sentences": [
            {
                "text": s.text,
                "start": s.start,
                "end": s.end,
                "missing": s.missing,
                "citations": [citation(c) for c in s.citations],
            }
            for s in cited_sentences(context)[item]
        ],
        "missed": [list(t) for key, t in (needed or {}).items() if key not in hits],
        "absent": [list(t) for t in unique(batch.absent_knowledge[item] or ()).values()],
    }


METRICS = (
    Metric.counted(
        name="citation_correctness",
        needs=("knowledge",),
        counts=_correctness,
        details=lambda _options: citation_details,
        doc="share of the citations that are triples of the given graph",
        source=_SOURCE,
        options=_VARIANTS,
        version=2,
    ),
    Metric.counted(
        name="citation_precision",
        needs=_NEEDS,
        counts=_precision,
        details=lambda _options: citation_details,
        doc="share of the citations that are correct and in the minimum knowledge set",
        source=_SOURCE,
        options=_VARIANTS,
        version=2,
    ),
    Metric.counted(
        name="citation_recall",
        needs=_NEEDS,
        counts=_recall,
        details=lambda _options: citation_details,
        doc="share of the minimum knowledge set that is correctly cited",
        source=_SOURCE,
        options=_VARIANTS,
        version=2,
    ),
    Metric.counted_f1(
        name="citation_f1",
        parts=("citation_precision", "citation_recall"),
        precision=_precision,
        recall=_recall,
        details=lambda _options: citation_details,
        needs=_NEEDS,
        doc="harmonic mean of citation precision and recall",
        source=_SOURCE,
        options=_VARIANTS,
        version=2,
    ),
)
