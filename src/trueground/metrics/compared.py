"""Metrics of models that compare a response with its references or its contexts.

The definitions are in docs/metrics.md, "Correctness against references", "Faithfulness to the given
knowledge" and "Abstention", and in Adlakha et al. 2023, sections 4.1, 5.1 and 5.3. This module
decides which items are compared, which texts the models get, and which of their numbers is the
metric. The model of the `llm_` metrics, which answers yes or no, is set by `--rater`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from trueground.components import ComponentSpec
from trueground.metrics.base import (
    Metric,
    MetricOption,
    Requirement,
    abstain_option,
    apply_abstain,
)
from trueground.metrics.batch import Batch, Column, Mask, Options
from trueground.metrics.context import BatchContext, ComparisonQuery
from trueground.types import Comparison, ComparisonRequest, Status

Requests = list[ComparisonRequest | None]
# Selects the items that are compared.
Items = Callable[[BatchContext, Options], Mask]
# Changes the column after the comparisons.
Finish = Callable[[Column, BatchContext, Options], Column]
_DEVICE = MetricOption("auto", doc="Device of the model, such as cpu or cuda.")
_DTYPE = MetricOption("float32", doc="Type of the model's weights.")
_LOADING = {
    "revision": MetricOption("", doc="Revision of the model on the Hugging Face Hub."),
    "device": _DEVICE,
    "dtype": _DTYPE,
}
_LAYER = {
    "model": MetricOption("FacebookAI/roberta-large", doc="Model of the Hugging Face Hub."),
    "layer": MetricOption("auto", doc="Layer whose embeddings are compared. auto: as published."),
    **_LOADING,
}
_LABEL = {
    "label": MetricOption("auto", doc="Label of the model whose probability is read."),
    "backend": MetricOption("auto", doc="Library that runs the model: auto, onnx or torch."),
    **_LOADING,
}
_BEM = {
    "model": MetricOption("kortukov/answer-equivalence-bem", doc="Model of the Hugging Face Hub."),
    **_LABEL,
}
_CRITIC = {
    "model": MetricOption(
        "McGill-NLP/roberta-large-faithcritic", doc="Model of the Hugging Face Hub."
    ),
    **_LABEL,
}
# Q² needs three models, so each has its own option.
_Q2 = {
    "questions": MetricOption(
        "mrm8488/t5-base-finetuned-question-generation-ap", doc="Model that asks questions."
    ),
    "answers": MetricOption(
        "ktrapeznikov/albert-xlarge-v2-squad-v2", doc="Model that answers questions."
    ),
    "nli": MetricOption("FacebookAI/roberta-large-mnli", doc="Model that compares answers."),
    "device": _DEVICE,
    "dtype": _DTYPE,
}
_BERTSCORE = {
    "precision": "BERTScore precision: how similar the response's tokens are to the reference's",
    "recall": "BERTScore recall: how similar the reference's tokens are to the response's",
    "f1": "harmonic mean of BERTScore precision and recall",
}
_CRITIC_DOC = "1 minus the probability that the response is hallucinated (FaithCritic)"
_BEM_DOC = "probability that response and reference are equivalent answers to the question"
_Q2_DOCS = {
    "f1": "Q²: token F1 of the answers by response and contexts to questions about the response",
    "nli": "as q2_f1, but 1 or 0 if one answer entails or contradicts the other",
}


def _first(comparison: Comparison) -> float:
    return next(iter(comparison.values.values()))


def _metric(
    name: str,
    family: str,
    needs: tuple[str, ...],
    doc: str,
    section: str,
    comparer: Callable[[Options], str],
    requests: Callable[[BatchContext, Options], Requests],
    finish: Finish,
    options: Mapping[str, MetricOption],
    value: Callable[[Comparison], float] = _first,
    extra: str | None = None,
    higher_is_better: bool = True,
) -> Metric:
    """Declare a metric of a comparer's number; items that aren't compared get 0."""

    def compute(context: BatchContext, o: Options) -> Column:
        comparisons = context.comparisons(comparer(o), requests(context, o))
        values: list[float | None] = []
        for comparison in comparisons:
            if comparison is not None and comparison.status is Status.SCORED:
                values.append(value(comparison))
            else:
                values.append(None)
        column = Column.of(np.zeros(len(comparisons))).filled(comparisons, values)
        return finish(column, context, o)

    def queries(o: Options) -> tuple[ComparisonQuery, ...]:
        return (ComparisonQuery(comparer(o), lambda context: requests(context, o)),)

    return Metric(
        name=name,
        family=family,
        needs=needs,
        compute=compute,
        doc=doc,
        source=f"Adlakha et al. 2023, section {section}",
        options=options,
        queries=queries,
        requires=Requirement(extra=extra),
        higher_is_better=higher_is_better,
    )


# Metrics of small models. Metrics of the same comparer share its answers.


def _references(batch: Batch, item: int) -> ComparisonRequest | None:
    references = batch.references[item]
    return ComparisonRequest(batch.responses[item], tuple(references)) if references else None


def _answers(batch: Batch, item: int) -> ComparisonRequest | None:
    """Return the request with the question; of a conversation, only its last turn."""
    references, question = batch.references[item], batch.questions[item]
    if not references or not question or question.isspace():
        return None
    return ComparisonRequest(batch.responses[item], tuple(references), question)


def _contexts(batch: Batch, item: int) -> ComparisonRequest | None:
    """Return the request with all contexts as one text."""
    texts = batch.texts(item, batch.context_numbers(item))
    return ComparisonRequest(batch.responses[item], (" ".join(texts),)) if texts else None


def _small(
    name: str,
    comparer: str,
    request: Callable[[Batch, int], ComparisonRequest | None],
    value: Callable[[Comparison], float],
    doc: str,
    options: Mapping[str, MetricOption],
) -> Metric:
    """Declare a metric of a small model; items without a request lack a field."""
    of_contexts = request is _contexts

    def comparer_spec(o: Options) -> str:
        """Return the comparer, with the options that differ from their defaults."""
        changed = {}
        for name, option in options.items():
            if name != "model" and o[name] != option.default:
                changed[name] = o[name]
        return ComponentSpec("comparer", comparer, o.get("model"), changed).written

    def requests(context: BatchContext, _o: Options) -> Requests:
        batch = context.batch
        return context.once(request, lambda: [request(batch, i) for i in range(len(batch))])

    def finish(column: Column, context: BatchContext, o: Options) -> Column:
        no_request = np.array([entry is None for entry in requests(context, o)], np.bool_)
        column = column.without(no_request, Status.MISSING_FIELD)
        return apply_abstain(column, context, o) if of_contexts else column

    needs = ("references", "question") if request is _answers else ("references",)
    return _metric(
        name,
        "faithfulness" if of_contexts else "correctness",
        ("contexts",) if of_contexts else needs,
        doc,
        "5.1" if of_contexts else "4.1",
        comparer_spec,
        requests,
        finish,
        {**options, **abstain_option("as_is")} if of_contexts else options,
        value,
        extra="hf",
    )


def _named(value: str) -> Callable[[Comparison], float]:
    return lambda comparison: comparison.values[value]


# Metrics of language models.


def _history(batch: Batch, item: int) -> str:
    """Return the earlier turns, one line each."""
    turns = batch.histories[item] or ()
    lines = ((f"{t.role}: " if t.role else "") + " ".join(t.content.split()) for t in turns)
    return "\n".join(lines)


def _blank(batch: Batch) -> Mask:
    return np.fromiter((not text.strip() for text in batch.responses), np.bool_, len(batch))


def _large(
    name: str,
    family: str,
    needs: tuple[str, ...],
    doc: str,
    section: str,
    items: Items,
    *,
    comparer: str | None = None,
    texts: Callable[[Batch, int], Sequence[str]] = lambda _batch, _item: (),
    finish: Finish = lambda column, _context, _o: column,
    options: Mapping[str, MetricOption] | None = None,
    higher_is_better: bool = True,
) -> Metric:
    """Declare a metric of a language model's yes or no about responses that aren't blank."""

    def comparer_spec(o: Options) -> str:
        """Return the comparer, with the user's prompt if there is one."""
        path = o["prompt"]
        comparer_name = comparer or name.replace("_", "-")
        prompt = {"prompt": path} if path else {}
        return ComponentSpec("comparer", comparer_name, None, prompt).written

    def request(batch: Batch, i: int) -> ComparisonRequest:
        question = batch.questions[i] or ""
        return ComparisonRequest(
            batch.responses[i], tuple(texts(batch, i)), question, _history(batch, i)
        )

    def requests(context: BatchContext, o: Options) -> Requests:
        batch = context.batch
        selected = (items(context, o) & ~_blank(batch)).tolist()
        return [request(batch, i) if selected[i] else None for i in range(len(batch))]

    declared = {**(options or {}), "prompt": MetricOption("", doc="File with your own prompt.")}
    return _metric(
        name,
        family,
        needs,
        doc,
        section,
        comparer_spec,
        requests,
        finish,
        declared,
        higher_is_better=higher_is_better,
    )


def _with_references(context: BatchContext, _o: Options) -> Mask:
    return context.batch.has("references") & context.batch.has("question")


def _with_contexts(context: BatchContext, o: Options) -> Mask:
    """Select items with contexts. If the policy sets their value, abstained items need no model."""
    items = context.batch.has("contexts")
    return items if o["abstain"] == "as_is" else items & ~context.abstained


def _faithfulness(column: Column, context: BatchContext, o: Options) -> Column:
    return apply_abstain(column.without(_blank(context.batch), Status.NO_CLAIMS), context, o)


def _abstention(
    name: str, flags: Sequence[bool | None], doc: str, higher_is_better: bool
) -> Metric:
    """Declare a metric of abstention over items with one of these flags for `answerable`.

    An empty response doesn't abstain, so the model isn't asked about it.
    """

    def items(context: BatchContext, _o: Options) -> Mask:
        return np.array([flag in flags for flag in context.batch.answerable], np.bool_)

    return _large(
        name,
        "abstention",
        ("answerable",) if None not in flags else (),
        doc,
        "5.3",
        items,
        comparer="llm-abstention",
        finish=lambda column, context, o: column.without(~items(context, o), Status.NOT_APPLICABLE),
        higher_is_better=higher_is_better,
    )


METRICS = (
    *(
        _small(f"bertscore_{value}", "bertscore", _references, _named(value), doc, _LAYER)
        for value, doc in _BERTSCORE.items()
    ),
    _small("bem", "bem", _answers, _named("bem"), _BEM_DOC, _BEM),
    *(
        _small(
            f"k_bertscore_{value}",
            "bertscore",
            _contexts,
            _named(value),
            f"BERTScore's {value.replace('f1', 'F1')} against the contexts",
            _LAYER,
        )
        for value in _BERTSCORE
    ),
    _small(
        "faith_critic",
        "faith-critic",
        _contexts,
        lambda comparison: 1.0 - comparison.values["hallucination"],
        _CRITIC_DOC,
        _CRITIC,
    ),
    *(
        _small(f"q2_{value}", "q2", _contexts, _named(value), doc, _Q2)
        for value, doc in _Q2_DOCS.items()
    ),
    _large(
        "llm_correctness",
        "correctness",
        ("references", "question"),
        "1 if a language model says that the response states a reference and nothing against it",
        "4.1",
        _with_references,
        texts=lambda batch, item: batch.references[item] or (),
    ),
    _large(
        "llm_faithfulness",
        "faithfulness",
        ("contexts",),
        "1 if a language model says that the contexts contain all of the response",
        "5.1",
        _with_contexts,
        texts=lambda batch, item: batch.texts(item, batch.context_numbers(item)),
        finish=_faithfulness,
        options=abstain_option("exclude"),
    ),
    _abstention(
        "llm_abstained",
        (False, True, None),
        "1 if a language model says that the response declines to answer",
        False,
    ),
    _abstention("llm_p_ir", (False,), "as p_ir, but a language model says what abstains", True),
    _abstention("llm_p_g", (True,), "as p_g, but a language model says what abstains", False),
)
