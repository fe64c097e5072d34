"""Metrics of small models that compare a response with its references or its contexts.

Definitions: metrics.md, "Correctness against references" and "Faithfulness to the given knowledge";
Adlakha et al. 2023, sections 4.1 and 5.1. The evaluation asks the models; here stands what they are
asked, and which of their numbers is the metric.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from trueground.metrics.answers import filled
from trueground.metrics.base import Metric, Option
from trueground.metrics.column import Column, Options
from trueground.metrics.evidence import BatchContext
from trueground.metrics.options import abstain_option, apply_abstain
from trueground.plugins import write
from trueground.types import Comparison, ComparisonRequest, Status

# What of a response's record a comparer sees; the word is part of the evidence's key.
Ask = Callable[[BatchContext, int], ComparisonRequest | None]
_HOW = {
    "revision": Option(""),
    "device": Option("auto"),
    "dtype": Option("float32"),
}
_LAYER = {"model": Option("FacebookAI/roberta-large"), "layer": Option("auto"), **_HOW}
_LABEL = {"label": Option("auto"), "backend": Option("auto"), **_HOW}
_BEM = {"model": Option("kortukov/answer-equivalence-bem"), **_LABEL}
_CRITIC = {"model": Option("McGill-NLP/roberta-large-faithcritic"), **_LABEL}
_ABSTAIN = abstain_option("as_is")
# Several models, each under its own name.
_Q2 = {
    "questions": Option("mrm8488/t5-base-finetuned-question-generation-ap"),
    "answers": Option("ktrapeznikov/albert-xlarge-v2-squad-v2"),
    "nli": Option("FacebookAI/roberta-large-mnli"),
    "device": Option("auto"),
    "dtype": Option("float32"),
    **_ABSTAIN,
}


def _references(evidence: BatchContext, item: int) -> ComparisonRequest | None:
    batch = evidence.batch
    references = batch.references[item]
    return ComparisonRequest(batch.responses[item], tuple(references)) if references else None


def _answers(evidence: BatchContext, item: int) -> ComparisonRequest | None:
    """With the question: in a conversation its last turn only."""
    batch = evidence.batch
    references, question = batch.references[item], batch.questions[item]
    if not references or not question or question.isspace():
        return None
    return ComparisonRequest(batch.responses[item], tuple(references), question)


def _knowledge(evidence: BatchContext, item: int) -> ComparisonRequest | None:
    """All contexts as one text."""
    batch = evidence.batch
    texts = batch.texts(item, batch.kept(item))
    return ComparisonRequest(batch.responses[item], (" ".join(texts),)) if texts else None


def _named(comparer: str, options: Options, declared: Mapping[str, Option]) -> str:
    """The comparer, without options that are as they are by themselves."""
    said = {
        name: options[name]
        for name, option in declared.items()
        if name not in ("model", *_ABSTAIN) and options[name] != option.default
    }
    return write(comparer, options.get("model"), said)


def _metric(
    name: str,
    asked: tuple[str, Ask],
    value: Callable[[Comparison], float],
    doc: str,
    options: Mapping[str, Option],
) -> Metric:
    """A metric of one comparer's number; metrics of the same comparer share its answers."""
    comparer, ask = asked

    def named(o: Options) -> str:
        return _named(comparer, o, options)

    def compute(evidence: BatchContext, o: Options) -> Column:
        requests = [ask(evidence, item) for item in range(len(evidence.batch))]
        found = evidence.comparisons(ask.__name__, named(o), requests)
        # What was not asked lacks a field.
        none = Column.of(np.zeros(len(requests))).without(
            np.array([request is None for request in requests], np.bool_), Status.MISSING_FIELD
        )
        column = filled(none, found, value)
        return apply_abstain(column, evidence, o) if "abstain" in options else column

    of_contexts = ask is _knowledge
    needs = ("references", "question") if ask is _answers else ("references",)
    return Metric(
        name,
        "faithfulness" if of_contexts else "correctness",
        ("contexts",) if of_contexts else needs,
        compute,
        doc,
        f"Adlakha et al. 2023, section {'5.1' if of_contexts else '4.1'}",
        options,
        comparer=named,
        extra="hf",
        in_default_set=False,
    )


def _of(name: str) -> Callable[[Comparison], float]:
    return lambda comparison: comparison.values[name]


_MATCHED = ("bertscore", _references)
_K_MATCHED = ("bertscore", _knowledge)
_K_LAYER = {**_LAYER, **_ABSTAIN}

METRICS = (
    _metric(
        "bertscore_precision",
        _MATCHED,
        _of("precision"),
        "mean over the response's tokens of the largest cosine with the reference's (BERTScore)",
        _LAYER,
    ),
    _metric(
        "bertscore_recall",
        _MATCHED,
        _of("recall"),
        "mean over the reference's tokens of the largest cosine with the response's (BERTScore)",
        _LAYER,
    ),
    _metric(
        "bertscore_f1",
        _MATCHED,
        _of("f1"),
        "harmonic mean of BERTScore's precision and recall",
        _LAYER,
    ),
    _metric(
        "bem",
        ("bem", _answers),
        _of("bem"),
        "probability that response and reference are equivalent answers to the question",
        _BEM,
    ),
    _metric(
        "k_bertscore_precision",
        _K_MATCHED,
        _of("precision"),
        "BERTScore's precision against the contexts",
        _K_LAYER,
    ),
    _metric(
        "k_bertscore_recall",
        _K_MATCHED,
        _of("recall"),
        "BERTScore's recall against the contexts",
        _K_LAYER,
    ),
    _metric(
        "k_bertscore_f1",
        _K_MATCHED,
        _of("f1"),
        "BERTScore's F1 against the contexts",
        _K_LAYER,
    ),
    _metric(
        "faith_critic",
        ("faith-critic", _knowledge),
        lambda comparison: 1.0 - comparison.values["hallucination"],
        "1 − the probability that the response is hallucinated (FaithCritic)",
        {**_CRITIC, **_ABSTAIN},
    ),
    _metric(
        "q2_f1",
        ("q2", _knowledge),
        _of("f1"),
        "overlap of the answers that response and contexts give to questions about it (Q²)",
        _Q2,
    ),
    _metric(
        "q2_nli",
        ("q2", _knowledge),
        _of("nli"),
        "the same, and 1 or 0 where the one answer entails or contradicts the other (Q²)",
        _Q2,
    ),
)
