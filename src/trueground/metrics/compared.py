"""Metrics of small models that compare a response with its references or its contexts.

Definitions: metrics.md, "Correctness against references" and "Faithfulness to the given knowledge";
Adlakha et al. 2023, sections 4.1 and 5.1. Here stands what the models are asked, and which of their
numbers is the metric.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from trueground.metrics.base import Metric, MetricOption, abstain_option, apply_abstain
from trueground.metrics.batch import Batch
from trueground.metrics.column import Column, Options
from trueground.metrics.context import BatchContext
from trueground.plugins import format_part
from trueground.types import Comparison, ComparisonRequest, Status

Requests = list[ComparisonRequest | None]
Request = Callable[[Batch, int], ComparisonRequest | None]
_AUTO = MetricOption("auto")
_LOADING = {"revision": MetricOption(""), "device": _AUTO, "dtype": MetricOption("float32")}
_LAYER = {"model": MetricOption("FacebookAI/roberta-large"), "layer": _AUTO, **_LOADING}
_LABEL = {"label": _AUTO, "backend": _AUTO, **_LOADING}
_BEM = {"model": MetricOption("kortukov/answer-equivalence-bem"), **_LABEL}
_CRITIC = {"model": MetricOption("McGill-NLP/roberta-large-faithcritic"), **_LABEL}
_ABSTAIN = abstain_option("as_is")
# Several models, each under its own name.
_Q2 = {
    "questions": MetricOption("mrm8488/t5-base-finetuned-question-generation-ap"),
    "answers": MetricOption("ktrapeznikov/albert-xlarge-v2-squad-v2"),
    "nli": MetricOption("FacebookAI/roberta-large-mnli"),
    "device": MetricOption("auto"),
    "dtype": MetricOption("float32"),
}


def _references(batch: Batch, item: int) -> ComparisonRequest | None:
    references = batch.references[item]
    return ComparisonRequest(batch.responses[item], tuple(references)) if references else None


def _answers(batch: Batch, item: int) -> ComparisonRequest | None:
    """With the question: in a conversation its last turn only."""
    references, question = batch.references[item], batch.questions[item]
    if not references or not question or question.isspace():
        return None
    return ComparisonRequest(batch.responses[item], tuple(references), question)


def _contexts(batch: Batch, item: int) -> ComparisonRequest | None:
    """All contexts as one text."""
    texts = batch.texts(item, batch.context_numbers(item))
    return ComparisonRequest(batch.responses[item], (" ".join(texts),)) if texts else None


def _metric(
    name: str,
    comparer: str,
    request: Request,
    value: str | Callable[[Comparison], float],
    doc: str,
    options: Mapping[str, MetricOption],
) -> Metric:
    """A metric of one comparer's number; metrics of the same comparer share its answers."""
    of_contexts = request is _contexts
    declared = {**options, **_ABSTAIN} if of_contexts else options

    def written(o: Options) -> str:
        """The comparer, without options that have their default."""
        changed = {
            name: o[name]
            for name, option in options.items()
            if name != "model" and o[name] != option.default
        }
        return format_part(comparer, o.get("model"), changed)

    def requests(context: BatchContext, _o: Options) -> Requests:
        batch = context.batch
        return context.once(request, lambda: [request(batch, i) for i in range(len(batch))])

    def compute(context: BatchContext, o: Options) -> Column:
        asked = requests(context, o)
        # What was not asked lacks a field.
        not_asked = np.array([one is None for one in asked], np.bool_)
        column = Column.of(np.zeros(len(asked))).without(not_asked, Status.MISSING_FIELD)
        found = context.comparisons(written(o), asked)
        number = value if callable(value) else lambda comparison: comparison.values[value]
        column = column.filled(found, comparison_values(found, number))
        return apply_abstain(column, context, o) if of_contexts else column

    needs = ("references", "question") if request is _answers else ("references",)
    return Metric(
        name,
        "faithfulness" if of_contexts else "correctness",
        ("contexts",) if of_contexts else needs,
        compute,
        doc,
        f"Adlakha et al. 2023, section {'5.1' if of_contexts else '4.1'}",
        declared,
        comparer=written,
        comparison_requests=requests,
        extra="hf",
        in_default_set=False,
    )


def comparison_values(
    comparisons: list[Comparison | None], value: Callable[[Comparison], float]
) -> list[float | None]:
    """The number of each comparison that has one."""
    return [value(c) if c is not None and c.status is Status.SCORED else None for c in comparisons]


_BERTSCORE = {
    "precision": (
        "mean over the response's tokens of the largest cosine with the reference's (BERTScore)"
    ),
    "recall": (
        "mean over the reference's tokens of the largest cosine with the response's (BERTScore)"
    ),
    "f1": "harmonic mean of BERTScore's precision and recall",
}
_K_BERTSCORE = {"precision": "precision", "recall": "recall", "f1": "F1"}
_CRITIC_DOC = "1 − the probability that the response is hallucinated (FaithCritic)"
_BEM_DOC = "probability that response and reference are equivalent answers to the question"
_Q2_DOCS = {
    "f1": "overlap of the answers that response and contexts give to questions about it (Q²)",
    "nli": "the same, and 1 or 0 where the one answer entails or contradicts the other (Q²)",
}


def _not_hallucinated(comparison: Comparison) -> float:
    return 1.0 - comparison.values["hallucination"]


METRICS = (
    *(
        _metric(f"bertscore_{value}", "bertscore", _references, value, doc, _LAYER)
        for value, doc in _BERTSCORE.items()
    ),
    _metric("bem", "bem", _answers, "bem", _BEM_DOC, _BEM),
    *(
        _metric(
            f"k_bertscore_{value}",
            "bertscore",
            _contexts,
            value,
            f"BERTScore's {name} against the contexts",
            _LAYER,
        )
        for value, name in _K_BERTSCORE.items()
    ),
    _metric("faith_critic", "faith-critic", _contexts, _not_hallucinated, _CRITIC_DOC, _CRITIC),
    *(_metric(f"q2_{value}", "q2", _contexts, value, doc, _Q2) for value, doc in _Q2_DOCS.items()),
)
