"""ROUGE-1, -2 and -L, F-measure: the values of the rouge-score library without stemming."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from rapidfuzz.distance import LCSseq

from trueground.metrics.base import Metric
from trueground.metrics.column import Column, Floats, Options, harmonic_mean
from trueground.metrics.evidence import BatchContext, ratio
from trueground.metrics.overlap import overlap
from trueground.text.tokens import Bags, Ids

_FIRST_CHAR = 0x10000  # above the surrogates


def _f_measure(common: Ids, response: Ids, reference: Ids) -> Floats:
    """As the library: 0 where either side has no n-gram."""
    return harmonic_mean(ratio(common, response, 0.0), ratio(common, reference, 0.0))


def _ngram(evidence: BatchContext, bigrams: bool) -> Column:
    bundle = evidence.tokens("rouge")
    u, r = bundle.u.take(evidence.pair_items), bundle.r
    if not bigrams:
        o = overlap(u, r)
    else:
        # One set of ids for both sides: the pairs of both are interned together.
        joined = Bags(
            np.concatenate((u.ids, r.ids)),
            np.concatenate((u.offsets, r.offsets[1:] + len(u.ids))),
        ).bigrams()
        o = overlap(joined.part(0, len(u)), joined.part(len(u), len(joined)))
    return Column.of(evidence.best(_f_measure(o.common, o.a, o.b)))


def _as_strings(bags: Bags, alphabet: Ids) -> list[str]:
    """Each list of ids as a string with one character an id."""
    codes = (alphabet[bags.ids] + _FIRST_CHAR).astype("<u4").tobytes()
    text = codes.decode("utf-32-le")
    cuts = bags.offsets.tolist()
    return [text[a:b] for a, b in pairwise(cuts)]


def _rouge_l(evidence: BatchContext, _options: Options) -> Column:
    bundle = evidence.tokens("rouge")
    largest = max((int(b.ids.max()) for b in (bundle.u, bundle.r) if len(b.ids)), default=0)
    alphabet = np.arange(largest + 1)
    if largest > 0xF_0000:  # more ids than there are characters: number those in use
        used = np.unique(np.concatenate((bundle.u.ids, bundle.r.ids)))
        alphabet[used] = np.arange(len(used))
    responses, references = _as_strings(bundle.u, alphabet), _as_strings(bundle.r, alphabet)
    items = evidence.pair_items
    similarity = LCSseq.similarity
    pairs = zip(items.tolist(), references, strict=True)
    common = np.array([similarity(responses[i], r) for i, r in pairs], np.int64)
    u, r = bundle.u.lengths[items], bundle.r.lengths
    return Column.of(evidence.best(_f_measure(common, u, r)))


def _metric(name: str, what: str) -> Metric:
    def compute(evidence: BatchContext, options: Options) -> Column:
        if name == "rouge_l":
            return _rouge_l(evidence, options)
        return _ngram(evidence, bigrams=name == "rouge_2")

    doc = f"ROUGE F-measure over {what}"
    return Metric(name, "correctness", ("references",), compute, doc, "Lin 2004")


METRICS = (
    _metric("rouge_1", "words"),
    _metric("rouge_2", "pairs of neighbouring words"),
    _metric("rouge_l", "the longest common subsequence of words"),
)
