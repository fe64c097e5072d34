"""Are the cited triples those of the given graph, and those that the answer needs?

Definitions: metrics.md, "Citations of knowledge-graph triples"; Li et al. 2024, section 4.2. The
variant `reference-code` counts as the authors' own script does, see docs/citations.md; `by_name`
takes the name of one given graph for its id.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from trueground.metrics.base import Metric, Option
from trueground.metrics.citations.counts import Counts, Tally, graphs_of, unique
from trueground.metrics.column import Column, Floats, Options, harmonic
from trueground.metrics.evidence import BatchContext
from trueground.text.brackets import Citation
from trueground.text.triples import Key, ids_by_name, keys_of, plain, triple_key
from trueground.types import Failure, Graph, Status, Triple

SOURCE = "Li et al. 2024, section 4.2"
FIRST_ROUND = "first_round_knowledge"
VARIANT = {"variant": Option("default", ("default", "reference-code"))}
_VARIANTS = {"variant": Option("default", ("default", "by_name", "reference-code"))}


@dataclass(frozen=True)
class Cited:
    """The citations of an item in their order: the triple of each, and whether a graph has it.

    `needed` is the minimum knowledge set, None where the record gives none.
    """

    keys: list[Key]
    correct: list[bool]
    needed: dict[Key, Triple] | None

    @property
    def hits(self) -> list[Key]:
        """The triples of the correct citations."""
        return [key for key, right in zip(self.keys, self.correct, strict=True) if right]


def cited(evidence: BatchContext, variant: str = "default") -> list[Cited]:
    """What each item cites, beside what it was given and needs."""
    by_name = variant == "by_name"
    items = range(len(evidence.batch))
    return evidence.once(("cited", by_name), lambda: [_cited(evidence, i, by_name) for i in items])


def _cited(evidence: BatchContext, item: int, by_name: bool) -> Cited:
    batch = evidence.batch
    graphs = batch.graphs[item] or ()
    given = keys_of(graphs)
    linked = _linked(graphs) if by_name else {}
    keys = [
        triple_key((c.qid or linked.get(_folded(c.name), ""), c.property, c.value))
        for sentence in batch.cited[item]
        for c in sentence.citations
    ]
    gold = batch.gold_knowledge[item]
    correct = [all(key) and key in given for key in keys]
    return Cited(keys, correct, None if gold is None else unique(gold))


def _linked(graphs: Sequence[Graph]) -> dict[str, str]:
    """The ids under the names that only one of them has."""
    return {name: min(ids) for name, ids in ids_by_name(graphs).items() if len(ids) == 1}


def _folded(name: str) -> str:
    return plain(name).casefold()


def first_round(meta: dict[str, Any] | None) -> set[Key] | Failure:
    """The triples of the minimum set that its first round chose, from `meta`; often none."""
    said = (meta or {}).get(FIRST_ROUND)
    try:
        triples = msgspec.convert(said, list[tuple[str, str, str]] | None)
    except msgspec.ValidationError:
        shown = repr(said)
        shown = shown if len(shown) < 60 else f"{shown[:57]}…"
        reason = (
            f"meta.{FIRST_ROUND} is {shown}; expected a list of [qid, property, value] lists of "
            "texts. Correct it or leave it out"
        )
        return Failure(Status.ERROR, reason)
    return {triple_key(triple) for triple in triples or ()}


def _tallies(evidence: BatchContext, o: Options, one: Callable[[Cited, int], Tally]) -> Counts:
    pairs = zip(cited(evidence, o["variant"]), graphs_of(evidence.batch), strict=True)
    return Counts.of([why or one(item, i) for i, (item, why) in enumerate(pairs)])


def _correctness(evidence: BatchContext, o: Options) -> Counts:
    return _tallies(evidence, o, lambda item, _: (len(item.hits), len(item.keys)))


def _precision(evidence: BatchContext, o: Options) -> Counts:
    """Without a minimum set nothing can be in it, which says nothing about the answer."""

    def one(item: Cited, _i: int) -> Tally:
        if not item.needed:
            return Status.MISSING_FIELD if item.needed is None else Status.NO_CLAIMS
        if o["variant"] == "reference-code":
            return len(item.needed.keys() & set(item.keys)), len(item.keys)
        return sum(key in item.needed for key in item.hits), len(item.keys)

    return evidence.once(("citation_precision", o["variant"]), lambda: _tallies(evidence, o, one))


def _recall(evidence: BatchContext, o: Options) -> Counts:
    def one(item: Cited, i: int) -> Tally:
        if item.needed is None:
            return Status.MISSING_FIELD
        if o["variant"] != "reference-code":
            return len(item.needed.keys() & set(item.hits)), len(item.needed)
        apart = first_round(evidence.batch.metas[i])
        if isinstance(apart, Failure):
            return apart
        needed = item.needed.keys() - apart
        return len(needed & set(item.keys)), len(needed)

    return evidence.once(("citation_recall", o["variant"]), lambda: _tallies(evidence, o, one))


def _f1(evidence: BatchContext, o: Options) -> Column:
    return harmonic(_precision(evidence, o).column, _recall(evidence, o).column)


def tells(evidence: BatchContext, item: int) -> dict[str, Any]:
    """The sentences with their citations, each marked; what is missed, and what is absent.

    Marks are those without a variant. A citation without an id has the `name` that stands in its
    place, and `linked`, the id that `by_name` takes for it (null for none). `needed` is null where
    the record has no minimum set. Places count in the NFC response.
    """
    batch, found = evidence.batch, cited(evidence)[item]
    if not batch.graphs[item]:
        return {}
    marks = iter(zip(found.keys, found.correct, strict=True))
    needed = found.needed
    linked = _linked(batch.graphs[item] or ())

    def citation(c: Citation) -> dict[str, Any]:
        key, correct = next(marks)
        named = {} if c.qid else {"name": c.name, "linked": linked.get(_folded(c.name))}
        return named | {
            "qid": c.qid,
            "property": c.property,
            "value": c.value,
            "start": c.start,
            "end": c.end,
            "correct": correct,
            "needed": None if needed is None else key in needed,
        }

    hits = set(found.hits)
    return {
        "sentences": [
            {
                "text": s.text,
                "start": s.start,
                "end": s.end,
                "missing": s.missing,
                "citations": [citation(c) for c in s.citations],
            }
            for s in batch.cited[item]
        ],
        "missed": [list(t) for key, t in (needed or {}).items() if key not in hits],
        "absent": [list(t) for t in unique(batch.absent_knowledge[item] or ()).values()],
    }


def _metric(name: str, needs: tuple[str, ...], count: _Count, doc: str) -> Metric:
    def compute(evidence: BatchContext, o: Options) -> Column:
        return count(evidence, o).column

    def totals(evidence: BatchContext, o: Options) -> tuple[Floats, Floats]:
        return count(evidence, o).totals

    return Metric(
        name,
        "citations",
        needs,
        compute,
        doc,
        SOURCE,
        _VARIANTS,
        totals=totals,
        tells=tells,
        version=2,
    )


_Count = Callable[[BatchContext, Options], Counts]
_NEEDS = ("knowledge", "gold_knowledge")

METRICS = (
    _metric(
        "citation_correctness",
        ("knowledge",),
        _correctness,
        "share of the citations that are triples of the given graph",
    ),
    _metric(
        "citation_precision",
        _NEEDS,
        _precision,
        "share of the citations that are correct and in the minimum knowledge set",
    ),
    _metric(
        "citation_recall",
        _NEEDS,
        _recall,
        "share of the minimum knowledge set that is correctly cited",
    ),
    Metric(
        "citation_f1",
        "citations",
        _NEEDS,
        _f1,
        "harmonic mean of citation precision and recall",
        SOURCE,
        _VARIANTS,
        harmonic=("citation_precision", "citation_recall"),
        tells=tells,
        version=2,
    ),
)
