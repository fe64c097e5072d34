"""Correctness against references; each value is the maximum over the references of an item.

Definitions: metrics.md, "Correctness against references"; Adlakha et al., section 4.1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trueground.metrics.base import Metric, Option
from trueground.metrics.column import Column, Floats, Options
from trueground.metrics.evidence import BatchContext, ratio
from trueground.metrics.options import LEXICAL, READ
from trueground.metrics.overlap import Overlap
from trueground.text.normalize import contains_words, get_normalizer
from trueground.text.tokens import tokenise
from trueground.types import Status

SOURCE = "Adlakha et al. 2023, section 4.1"
PART = " & "  # between the parts of an answer, as Truly-Ground writes it
PairValues = Callable[[Overlap], Floats]


def f1_of(overlap: Overlap) -> Floats:
    """Harmonic mean of precision and recall; 1 if both sides are empty, 0 if one is."""
    total = overlap.a + overlap.b
    return ratio(2 * overlap.common, total, 1.0)


def _overlap_metric(name: str, values: PairValues, doc: str) -> Metric:
    def compute(evidence: BatchContext, options: Options) -> Column:
        return Column.of(evidence.best(values(evidence.reference_overlap(options))))

    return Metric(name, "correctness", ("references",), compute, doc, SOURCE, LEXICAL)


def _match(evidence: BatchContext, options: Options, hit: Callable[[str, str], bool]) -> Floats:
    """1 for each (item, reference) pair of normalised strings that hits."""
    responses, references = evidence.said(options), evidence.strings(options)[1]
    items = evidence.pair_items.tolist()
    found = [hit(responses[i], r) for i, r in zip(items, references, strict=True)]
    return np.array(found, np.float64)


def _exact_match(evidence: BatchContext, options: Options) -> Column:
    return Column.of(evidence.best(_match(evidence, options, str.__eq__)))


def _recall_strict(evidence: BatchContext, options: Options) -> Column:
    return Column.of(evidence.best(_match(evidence, options, str.__contains__)))


def _match_parts(
    evidence: BatchContext, options: Options, hit: Callable[[str, str], bool]
) -> Floats:
    """1 for each pair whose reference, "A & B", has all of its parts in the response."""
    responses = evidence.said(options)
    parts = [reference.split(PART) for reference in evidence.batch.references_flat]
    normalizer = get_normalizer(options["normalizer"], options["lang"])
    plain = iter(tokenise([part for some in parts for part in some], normalizer).strings())
    items = evidence.pair_items.tolist()
    hits = [
        [hit(responses[i], next(plain)) for _ in some] for i, some in zip(items, parts, strict=True)
    ]
    return np.array([all(some) for some in hits], np.float64)


def _answer_accuracy(evidence: BatchContext, options: Options) -> Column:
    """A reference that normalises to nothing is no definite answer and is not looked for."""
    hit = contains_words if options["match"] == "word" else str.__contains__
    match = _match_parts if options["parts"] == "each" else _match
    found = match(evidence, options, hit)
    definite = np.array([bool(r) for r in evidence.strings(options)[1]], np.bool_)
    if options["answers"] == "all":
        values = 1.0 - evidence.best(np.where(definite, 1.0 - found, 0.0))
    else:
        values = evidence.best(np.where(definite, found, 0.0))
    some = evidence.best(definite.astype(np.float64)) == 1.0
    return Column.of(values).without(~some, Status.NOT_APPLICABLE)


_ANSWER_OPTIONS = {
    **LEXICAL,
    "match": Option("word", ("word", "substring")),
    "answers": Option("any", ("any", "all")),
    # each: a reference "A & B" is met where A and B are found, wherever they stand.
    "parts": Option("whole", ("whole", "each")),
    **READ,
}

METRICS = (
    Metric(
        "exact_match",
        "correctness",
        ("references",),
        _exact_match,
        "1 if the normalised response equals a normalised reference",
        SOURCE,
        LEXICAL,
    ),
    _overlap_metric(
        "precision",
        lambda o: ratio(o.common, o.a, 0.0),
        "share of the response's tokens that are in the reference",
    ),
    _overlap_metric(
        "recall",
        lambda o: ratio(o.common, o.b, 1.0),
        "share of the reference's tokens that are in the response",
    ),
    _overlap_metric("f1", f1_of, "harmonic mean of token precision and recall"),
    Metric(
        "recall_strict",
        "correctness",
        ("references",),
        _recall_strict,
        "1 if the response contains a whole reference as a substring",
        SOURCE,
        LEXICAL,
    ),
    Metric(
        "answer_accuracy",
        "correctness",
        ("given_references",),
        _answer_accuracy,
        "1 if the response contains a definite answer on word boundaries",
        "Lee et al. 2024, section 4.1",
        _ANSWER_OPTIONS,
    ),
)
