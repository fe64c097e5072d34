"""Metrics that compare words: with references, with the options of a question, with contexts.

The definitions are in docs/metrics.md, "Correctness against references", "Faithfulness to the
given knowledge" and "FaithEval accuracy", and in Adlakha et al., sections 4.1 and 5.1. If an item
has several references, its value is the maximum over them. ROUGE-1, -2 and -L are the F-measures
of the rouge-score library without stemming. METEOR is NLTK's, an optional install. The `_pp`
metrics discount the tokens of question and history (K-F1++ of Chiesurin et al. 2023).

The functions run for every pair of an item and a reference. Comprehensions over pairs are the
fast path, so they stay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain, pairwise

import numpy as np
from rapidfuzz.distance import LCSseq

from trueground.metrics.base import (
    FAITHEVAL_SOURCE,
    LEXICAL,
    READ,
    Metric,
    MetricOption,
    Requirement,
    abstain_option,
    apply_abstain,
)
from trueground.metrics.batch import Column, Floats, Options, harmonic_mean, ratio
from trueground.metrics.context import BatchContext
from trueground.metrics.tokens import Bags, Ids, Overlap, tokenize
from trueground.text import Normalizer, contains_words
from trueground.types import Status

_CORRECTNESS = "Adlakha et al. 2023, section 4.1"
_FAITHFULNESS = "Adlakha et al. 2023, section 5.1"
_SEPARATOR = " & "  # Separates the parts of an answer in the dataset Truly-Ground.
_FIRST_CODE_POINT = 0x10000  # The first code point above the surrogates.
OverlapValues = Callable[[Overlap], Floats]
_ANSWER_OPTIONS = {
    **LEXICAL,
    "match": MetricOption(
        "word", ("word", "substring"), "Whether a reference must match whole words."
    ),
    "answers": MetricOption(
        "any", ("any", "all"), "Whether one reference is enough, or all are needed."
    ),
    "parts": MetricOption(
        "whole",
        ("whole", "each"),
        'each: a reference "A & B" matches if the response contains both A and B.',
    ),
    **READ,
}
_ROUGE = "ROUGE F-measure over "


def _f1(o: Overlap) -> Floats:
    """Return token F1; 1 if both sides are empty, 0 if only one is."""
    return ratio(2 * o.common, o.a + o.b, 1.0)


def _match(context: BatchContext, o: Options, hit: Callable[[str, str], bool]) -> Floats:
    """Return 1 for each (item, reference) pair of normalized strings that matches."""
    responses, references = context.responses(o), context.references(o)
    pairs = zip(context.pair_items.tolist(), references, strict=True)
    return np.array([hit(responses[i], r) for i, r in pairs], np.float64)


def _match_parts(context: BatchContext, o: Options, hit: Callable[[str, str], bool]) -> Floats:
    """Return 1 for each pair whose reference, "A & B", has all parts in the response."""
    responses = context.responses(o)
    parts = [reference.split(_SEPARATOR) for reference in context.batch.references_flat]
    normalizer = Normalizer.named(o["normalizer"], o["lang"])
    # The tokenizer is made for batches, so all parts are normalized in one call.
    normalized = iter(tokenize(list(chain.from_iterable(parts)), normalizer).strings())
    matches = []
    for item, reference_parts in zip(context.pair_items.tolist(), parts, strict=True):
        part_matches = [hit(responses[item], next(normalized)) for _ in reference_parts]
        matches.append(all(part_matches))
    return np.array(matches, np.float64)


def _answer_accuracy(context: BatchContext, o: Options) -> Column:
    """Return 1 if the response contains an answer; ignore references that normalize to nothing."""
    hit = contains_words if o["match"] == "word" else str.__contains__
    match = _match_parts if o["parts"] == "each" else _match
    matches = match(context, o, hit)
    definite = np.array([bool(r) for r in context.references(o)], np.bool_)
    if o["answers"] == "all":
        values = 1.0 - context.best(np.where(definite, 1.0 - matches, 0.0))
    else:
        values = context.best(np.where(definite, matches, 0.0))
    has_definite = context.best(definite.astype(np.float64)) == 1.0
    return Column.of(values).without(~has_definite, Status.NOT_APPLICABLE)


def _f_measure(common: Ids, response: Ids, reference: Ids) -> Floats:
    """Return F1 as rouge-score computes it: 0 if either side has no n-gram."""
    return harmonic_mean(ratio(common, response, 0.0), ratio(common, reference, 0.0))


def _rouge_n(context: BatchContext, bigrams: bool) -> Column:
    bundle = context.tokens("rouge")
    u: Bags = bundle.u
    r: Bags = bundle.r
    if bigrams:
        # Both sides are joined first, so that equal pairs of words get equal ids.
        joined = Bags(
            np.concatenate((u.ids, r.ids)), np.concatenate((u.offsets, r.offsets[1:] + len(u.ids)))
        ).bigrams()
        u, r = joined.part(0, len(u)), joined.part(len(u), len(joined))
    o = u.overlap_with_each(r, context.pair_items)
    return Column.of(context.best(_f_measure(o.common, o.a, o.b)))


def _as_strings(bags: Bags, alphabet: Ids) -> list[str]:
    """Return each list of ids as a string with one character per id."""
    codes = (alphabet[bags.ids] + _FIRST_CODE_POINT).astype("<u4").tobytes()
    text = codes.decode("utf-32-le")
    return [text[a:b] for a, b in pairwise(bags.offsets.tolist())]


def _rouge_l(context: BatchContext, _options: Options) -> Column:
    bundle = context.tokens("rouge")
    largest = max((int(b.ids.max()) for b in (bundle.u, bundle.r) if len(b.ids)), default=0)
    alphabet = np.arange(largest + 1)
    if largest > 0xF_0000:  # There are more ids than characters, so number only those in use.
        used = np.unique(np.concatenate((bundle.u.ids, bundle.r.ids)))
        alphabet[used] = np.arange(len(used))
    responses, references = _as_strings(bundle.u, alphabet), _as_strings(bundle.r, alphabet)
    items, similarity = context.pair_items, LCSseq.similarity
    pairs = zip(items.tolist(), references, strict=True)
    common = np.array([similarity(responses[i], r) for i, r in pairs], np.int64)
    u, r = bundle.u.lengths[items], bundle.r.lengths
    return Column.of(context.best(_f_measure(common, u, r)))


def _meteor(context: BatchContext, o: Options) -> Column:
    from trueground.metrics.meteor_matching import meteor

    batch, wordnet = context.batch, o["wordnet"] or None
    pairs = zip(batch.responses, batch.references, strict=True)
    values = [meteor(u, refs, wordnet) if refs else np.nan for u, refs in pairs]
    return Column.of(np.array(values, np.float64))


def _prepare_meteor(o: Options) -> None:
    from trueground.metrics.meteor_matching import load_meteor

    load_meteor(o["wordnet"] or None)


def _choice_accuracy(context: BatchContext, options: Options) -> Column:
    from trueground.metrics.choices import chosen_label, mentioned_labels, right_labels

    batch, normalize = context.batch, Normalizer.named("faitheval").rule
    values = np.zeros(len(batch))
    undecidable = np.zeros(len(batch), np.bool_)
    for i, (choices, references) in enumerate(zip(batch.choices, batch.references, strict=True)):
        if not choices or not references:
            continue
        right = right_labels(references, choices, normalize)
        undecidable[i] = not right
        response = batch.responses[i]
        if options["variant"] == "mentions":
            values[i] = bool(mentioned_labels(response, choices, normalize) & right)
        else:
            values[i] = chosen_label(response, choices, normalize) in right
    return Column.of(values).without(undecidable, Status.NOT_APPLICABLE)


def _against_references(
    name: str,
    compute: Callable[[BatchContext, Options], Column],
    doc: str,
    source: str = _CORRECTNESS,
    options: Mapping[str, MetricOption] = LEXICAL,
    needs: str = "references",
) -> Metric:
    return Metric(
        name=name,
        family="correctness",
        needs=(needs,),
        compute=compute,
        doc=doc,
        source=source,
        options=options,
    )


def _of_overlap(values: OverlapValues) -> Callable[[BatchContext, Options], Column]:
    return lambda context, o: Column.of(context.best(values(context.reference_overlap(o))))


def _of_match(hit: Callable[[str, str], bool]) -> Callable[[BatchContext, Options], Column]:
    return lambda context, o: Column.of(context.best(_match(context, o, hit)))


def _against_contexts(
    name: str, values: OverlapValues, doc: str, options: Mapping[str, MetricOption] | None = None
) -> Metric:
    def compute(context: BatchContext, o: Options) -> Column:
        return apply_abstain(Column.of(values(context.knowledge_overlap(o))), context, o)

    needs = ("contexts", "question") if name.endswith("_pp") else ("contexts",)
    options = {**LEXICAL, **abstain_option("as_is"), **(options or {})}
    return Metric(
        name=name,
        family="faithfulness",
        needs=needs,
        compute=compute,
        doc=doc,
        source=_FAITHFULNESS,
        options=options,
    )


def _if_left(o: Overlap, values: Floats) -> Floats:
    """Return the values, but 1 if the discount leaves no token of the response."""
    return np.where(o.left > 0, values, 1.0)


METRICS = (
    _against_references(
        "exact_match",
        _of_match(str.__eq__),
        "1 if the response equals a reference after normalization, else 0",
    ),
    _against_references(
        "precision",
        _of_overlap(lambda o: ratio(o.common, o.a, 0.0)),
        "share of the response's tokens that are in the reference",
    ),
    _against_references(
        "recall",
        _of_overlap(lambda o: ratio(o.common, o.b, 1.0)),
        "share of the reference's tokens that are in the response",
    ),
    _against_references("f1", _of_overlap(_f1), "harmonic mean of token precision and recall"),
    _against_references(
        "recall_strict",
        _of_match(str.__contains__),
        "1 if the response contains a whole reference as a substring, else 0",
    ),
    _against_references(
        "answer_accuracy",
        _answer_accuracy,
        "1 if the response contains a reference as whole words, else 0",
        "Lee et al. 2024, section 4.1",
        _ANSWER_OPTIONS,
        "given_references",
    ),
    _against_references(
        "rouge_1", lambda c, _: _rouge_n(c, False), f"{_ROUGE}words", "Lin 2004", {}
    ),
    _against_references(
        "rouge_2",
        lambda c, _: _rouge_n(c, True),
        f"{_ROUGE}pairs of neighboring words",
        "Lin 2004",
        {},
    ),
    _against_references(
        "rouge_l", _rouge_l, f"{_ROUGE}the longest common subsequence of words", "Lin 2004", {}
    ),
    Metric(
        name="meteor",
        family="correctness",
        needs=("references",),
        compute=_meteor,
        doc="METEOR: overlap of words that match by form, stem or WordNet synonym",
        source="Banerjee and Lavie 2005",
        options={"wordnet": MetricOption("", doc="Folder with WordNet's database files.")},
        requires=Requirement(extra="meteor", check=_prepare_meteor),
    ),
    _against_contexts(
        "k_precision",
        lambda o: ratio(o.common, o.a, 0.0),
        "share of the response's tokens that are in the contexts",
        {
            "abstention_passage": MetricOption(
                "false",
                ("false", "true"),
                'Whether "I don\'t know." is appended to the contexts, so this answer scores 1.',
            )
        },
    ),
    _against_contexts(
        "k_recall",
        lambda o: ratio(o.common, o.b, 0.0),
        "share of the contexts' tokens that are in the response",
    ),
    _against_contexts("k_f1", _f1, "harmonic mean of k_precision and k_recall"),
    _against_contexts(
        "k_precision_pp",
        lambda o: ratio(o.left_common, o.left, 1.0),
        "as k_precision, but tokens of question and history don't count",
    ),
    _against_contexts(
        "k_recall_pp",
        lambda o: _if_left(o, ratio(o.left_common, o.b, 0.0)),
        "as k_recall, but tokens of question and history don't count",
    ),
    _against_contexts(
        "k_f1_pp",
        lambda o: _if_left(o, ratio(2 * o.left_common, o.left + o.b, 1.0)),
        "as k_f1, but tokens of question and history don't count",
    ),
    Metric(
        name="choice_accuracy",
        family="correctness",
        needs=("choices", "references"),
        compute=_choice_accuracy,
        doc="1 if the response chooses the correct option, by label or by text, else 0",
        source=FAITHEVAL_SOURCE,
        options={
            "variant": MetricOption(
                "answer",
                ("answer", "mentions"),
                "mentions: it is enough that the response mentions the correct option.",
            )
        },
        version=3,
    ),
)
