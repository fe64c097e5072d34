"""Are the cited triples those of the given graph, and those that the answer needs?

Definitions: metrics.md, "Citations of knowledge-graph triples"; Li et al. 2024, section 4.2. The
variant `reference-code` counts as the authors' own script does, see docs/citations.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from trueground.metrics.base import Metric, Option
from trueground.metrics.citations.counts import Counts, Tally, graphs_of, unique
from trueground.metrics.column import Column, Floats, Options, harmonic
from trueground.metrics.evidence import Evidence
from trueground.text.citations.base import Citation
from trueground.text.citations.triples import Key, keys_of, triple_key
from trueground.types import Failure, Status, Triple

SOURCE = "Li et al. 2024, section 4.2"
FIRST_ROUND = "first_round_knowledge"
VARIANT = {"variant": Option("default", ("default", "reference-code"))}


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


def cited(evidence: Evidence) -> list[Cited]:
    """What each item cites, beside what it was given and needs."""
    return evidence.once("cited", lambda: [_cited(evidence, i) for i in range(len(evidence.batch))])


def _cited(evidence: Evidence, item: int) -> Cited:
    batch = evidence.batch
    given = keys_of(batch.graphs[item] or ())
    citations = [c for sentence in batch.cited[item] for c in sentence.citations]
    keys = [triple_key((c.qid, c.property, c.value)) for c in citations]
    correct = [c.complete and k in given for c, k in zip(citations, keys, strict=True)]
    gold = batch.gold_knowledge[item]
    return Cited(keys, correct, None if gold is None else unique(gold))


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


def _tallies(evidence: Evidence, one: Callable[[Cited, int], Tally]) -> Counts:
    pairs = zip(cited(evidence), graphs_of(evidence.batch), strict=True)
    return Counts.of([why or one(item, i) for i, (item, why) in enumerate(pairs)])


def _correctness(evidence: Evidence, _o: Options) -> Counts:
    return _tallies(evidence, lambda item, _: (len(item.hits), len(item.keys)))


def _precision(evidence: Evidence, o: Options) -> Counts:
    """Without a minimum set nothing can be in it, which says nothing about the answer."""

    def one(item: Cited, _i: int) -> Tally:
        if not item.needed:
            return Status.MISSING_FIELD if item.needed is None else Status.NO_CLAIMS
        if o["variant"] == "reference-code":
            return len(item.needed.keys() & set(item.keys)), len(item.keys)
        return sum(key in item.needed for key in item.hits), len(item.keys)

    return evidence.once(("citation_precision", o["variant"]), lambda: _tallies(evidence, one))


def _recall(evidence: Evidence, o: Options) -> Counts:
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

    return evidence.once(("citation_recall", o["variant"]), lambda: _tallies(evidence, one))


def _f1(evidence: Evidence, o: Options) -> Column:
    return harmonic(_precision(evidence, o).column, _recall(evidence, o).column)


def tells(evidence: Evidence, item: int) -> dict[str, Any]:
    """The sentences with their citations, each marked; what is missed, and what is absent.

    `needed` is null where the record has no minimum set. Places count in the NFC response.
    """
    batch, found = evidence.batch, cited(evidence)[item]
    if not batch.graphs[item]:
        return {}
    marks = iter(zip(found.keys, found.correct, strict=True))
    needed = found.needed

    def citation(c: Citation) -> dict[str, Any]:
        key, correct = next(marks)
        return {
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
    def compute(evidence: Evidence, o: Options) -> Column:
        return count(evidence, o).column

    def totals(evidence: Evidence, o: Options) -> tuple[Floats, Floats]:
        return count(evidence, o).totals

    return Metric(
        name, "citations", needs, compute, doc, SOURCE, VARIANT, totals=totals, tells=tells
    )


_Count = Callable[[Evidence, Options], Counts]
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
        VARIANT,
        harmonic=("citation_precision", "citation_recall"),
        tells=tells,
    ),
)
