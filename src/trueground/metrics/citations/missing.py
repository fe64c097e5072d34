"""Does [NA] stand where knowledge is missing?

Definitions: metrics.md, "Citations of knowledge-graph triples"; Li et al. 2024, section 4.4. In the
variant `reference-code` pairs of a sentence and a triple are counted, and absent is all of the
minimum set that the answer does not cite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trueground.errors import UsageError
from trueground.metrics.base import Metric, Option
from trueground.metrics.batch import Batch
from trueground.metrics.citations.alignment import NO_SENTENCE
from trueground.metrics.citations.asked import Asked
from trueground.metrics.citations.counts import (
    Counts,
    Tally,
    graphs_of,
    unanswered,
    unique,
)
from trueground.metrics.citations.hypotheses import hypothesis, request
from trueground.metrics.citations.topic import off_topic
from trueground.metrics.citations.triples import VARIANT, first_round, tells
from trueground.metrics.column import Column, Floats, Mask, Options, harmonic
from trueground.metrics.evidence import BatchContext, Checked
from trueground.text.citations import Sentence
from trueground.text.triples import triple_key
from trueground.types import Claim, Failure, Status, Triple

SOURCE = "Li et al. 2024, section 4.4"
_OFF_TOPIC = {"off_topic": Option("wrong", ("wrong", "right"))}
_REFERENCE = "reference-code"
_NEEDS = ("knowledge", "absent_knowledge")
_REFERENCE_NEEDS = ("knowledge", "gold_knowledge")


@dataclass(frozen=True)
class _Item:
    """The sentences of an item that have [NA], by number, and the triples that are absent."""

    sentences: dict[int, Sentence]
    absent: list[Triple]


def _item(batch: Batch, i: int, variant: str) -> _Item | Status | Failure:
    """Or why the item has no values."""
    marked = {n: s for n, s in enumerate(batch.cited[i]) if s.missing}
    if variant != _REFERENCE:
        absent = batch.absent_knowledge[i]
        if absent is None:
            return Status.MISSING_FIELD
        return _Item(marked, list(unique(absent).values()))
    gold, apart = batch.gold_knowledge[i], first_round(batch.metas[i])
    if gold is None:
        return Status.MISSING_FIELD
    if isinstance(apart, Failure):
        return apart
    known = {
        triple_key((c.qid, c.property, c.value)) for s in batch.cited[i] for c in s.citations
    } | apart
    return _Item(marked, [triple for key, triple in unique(gold).items() if key not in known])


def _items(batch: Batch, variant: str) -> list[_Item | Status | Failure]:
    whys = graphs_of(batch)
    return [why or _item(batch, i, variant) for i, why in enumerate(whys)]


def asked(batch: Batch, variant: str) -> list[list[Asked]]:
    """For each sentence with [NA], and in it for each absent triple: does the one entail the other?

    Claims have the place of the sentence.
    """
    return [
        [
            _asked(sentence, number, triple)
            for number, sentence in item.sentences.items()
            for triple in item.absent
        ]
        if isinstance(item, _Item)
        else []
        for item in _items(batch, variant)
    ]


def _asked(sentence: Sentence, number: int, triple: Triple) -> Asked:
    _, name, value = triple
    claim = Claim(hypothesis(name, value), sentence.start, sentence.end, number)
    if not sentence.text:
        return Asked(claim, verdict=NO_SENTENCE)
    return Asked(claim, request(sentence.text, name, value))


def _kinds(o: Options) -> tuple[str, ...]:
    return ("missing:reference-code" if o["variant"] == _REFERENCE else "missing",)


def _grid(item: _Item, checked: Checked, i: int) -> Mask:
    """Which sentence entails which triple, shape (sentences with [NA], absent triples)."""
    shape = len(item.sentences), len(item.absent)
    if len(checked.verdicts) != shape[0] * shape[1]:
        raise UsageError(
            f"supported[{i}] has {len(checked.verdicts)} verdicts; expected {shape[0] * shape[1]}: "
            f"for each of the {shape[0]} sentences with [NA] one for each of the {shape[1]} absent "
            "triples"
        )
    return np.array([bool(v.supported) for v in checked.verdicts], np.bool_).reshape(shape)


def _tallies(
    evidence: BatchContext, o: Options, one: Callable[[_Item, Mask, int], Tally]
) -> Counts:
    variant = o["variant"]
    found = evidence.once(("absent", variant), lambda: _items(evidence.batch, variant))
    tallies: list[Tally] = []
    for i, (item, checked) in enumerate(zip(found, evidence.checks(*_kinds(o)), strict=True)):
        if isinstance(item, _Item):
            tallies.append(unanswered(checked) or one(item, _grid(item, checked, i), i))
        else:
            tallies.append(item)
    return Counts.of(tallies)


def _precision(evidence: BatchContext, o: Options) -> Counts:
    """No unit where there is no [NA]; nothing absent makes every [NA] wrong."""
    excuses = o["off_topic"] == "right"

    def one(item: _Item, entails: Mask, i: int) -> Tally:
        if o["variant"] == _REFERENCE:
            return int(entails.sum()), len(entails)
        right: Mask = np.any(entails, axis=1)
        if excuses and item.sentences:
            question = evidence.batch.prior_turns[i]
            if not question.strip():
                return Status.MISSING_FIELD
            excused = off_topic([s.text for s in item.sentences.values()], question)
            right = right | np.array(excused, np.bool_)
        return int(right.sum()), len(right)

    key = ("na_precision", o["variant"], o["off_topic"])
    return evidence.once_judged(key, lambda: _tallies(evidence, o, one))


def _recall(evidence: BatchContext, o: Options) -> Counts:
    def one(item: _Item, entails: Mask, _i: int) -> Tally:
        if o["variant"] == _REFERENCE:
            return (int(entails.sum()), len(item.absent)) if item.sentences else Status.NO_CLAIMS
        return int(np.any(entails, axis=0).sum()), len(item.absent)

    key = ("na_recall", o["variant"])
    return evidence.once_judged(key, lambda: _tallies(evidence, o, one))


def _f1(evidence: BatchContext, o: Options) -> Column:
    return harmonic(_precision(evidence, o).column, _recall(evidence, o).column)


def _needs(o: Options) -> tuple[str, ...]:
    return _REFERENCE_NEEDS if o["variant"] == _REFERENCE else _NEEDS


def _consistent(o: Options) -> None:
    """Raises UsageError for options that exclude each other."""
    if o["variant"] == _REFERENCE and o.get("off_topic") == "right":
        raise UsageError(
            "off_topic=right does not go with variant=reference-code, whose script has no such "
            "rule; leave one of the two out"
        )


def _metric(
    name: str,
    compute: Callable[[BatchContext, Options], Counts],
    options: dict[str, Option],
    doc: str,
) -> Metric:
    def column(evidence: BatchContext, o: Options) -> Column:
        return compute(evidence, o).column

    def totals(evidence: BatchContext, o: Options) -> tuple[Floats, Floats]:
        return compute(evidence, o).totals

    return Metric(
        name,
        "citations",
        _NEEDS,
        column,
        doc,
        SOURCE,
        options,
        _kinds,
        prepare=_consistent,
        needs_by=_needs,
        totals=totals,
        tells=tells,
        version=2,
    )


METRICS = (
    _metric(
        "na_precision",
        _precision,
        {**VARIANT, **_OFF_TOPIC},
        "share of the sentences with [NA] that entail something absent",
    ),
    _metric(
        "na_recall",
        _recall,
        VARIANT,
        "share of the absent knowledge that some sentence with [NA] entails",
    ),
    Metric(
        "na_f1",
        "citations",
        _NEEDS,
        _f1,
        "harmonic mean of [NA] precision and recall",
        SOURCE,
        {**VARIANT, **_OFF_TOPIC},
        _kinds,
        prepare=_consistent,
        needs_by=_needs,
        harmonic=("na_precision", "na_recall"),
        tells=tells,
        version=2,
    ),
)
