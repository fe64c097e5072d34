"""Metrics of models that compare a response with its references or its contexts.

Definitions: metrics.md, "Correctness against references", "Faithfulness to the given knowledge" and
"Abstention"; Adlakha et al. 2023, sections 4.1, 5.1 and 5.3. Here stands what the models are shown,
which items they are asked about, and which of their numbers is the metric. The model of the `llm_`
metrics, which says yes or no, is the one that `--rater` names.
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
# Which items are asked about, and after the answers are in, what else becomes of the column.
Items = Callable[[BatchContext, Options], Mask]
Finish = Callable[[Column, BatchContext, Options], Column]
_AUTO = MetricOption("auto")
_LOADING = {"revision": MetricOption(""), "device": _AUTO, "dtype": MetricOption("float32")}
_LAYER = {"model": MetricOption("FacebookAI/roberta-large"), "layer": _AUTO, **_LOADING}
_LABEL = {"label": _AUTO, "backend": _AUTO, **_LOADING}
_BEM = {"model": MetricOption("kortukov/answer-equivalence-bem"), **_LABEL}
_CRITIC = {"model": MetricOption("McGill-NLP/roberta-large-faithcritic"), **_LABEL}
# Several models, each under its own name.
_Q2 = {
    "questions": MetricOption("mrm8488/t5-base-finetuned-question-generation-ap"),
    "answers": MetricOption("ktrapeznikov/albert-xlarge-v2-squad-v2"),
    "nli": MetricOption("FacebookAI/roberta-large-mnli"),
    "device": _AUTO,
    "dtype": MetricOption("float32"),
}
_BERTSCORE = {
    "precision": (
        "mean over the response's tokens of the largest cosine with the reference's (BERTScore)"
    ),
    "recall": (
        "mean over the reference's tokens of the largest cosine with the response's (BERTScore)"
    ),
    "f1": "harmonic mean of BERTScore's precision and recall",
}
_CRITIC_DOC = "1 − the probability that the response is hallucinated (FaithCritic)"
_BEM_DOC = "probability that response and reference are equivalent answers to the question"
_Q2_DOCS = {
    "f1": "overlap of the answers that response and contexts give to questions about it (Q²)",
    "nli": "the same, and 1 or 0 where the one answer entails or contradicts the other (Q²)",
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
    """A metric of a comparer's number; items that are not asked about are 0."""

    def compute(context: BatchContext, o: Options) -> Column:
        found = context.comparisons(comparer(o), requests(context, o))
        values = [
            value(one) if one is not None and one.status is Status.SCORED else None for one in found
        ]
        return finish(Column.of(np.zeros(len(found))).filled(found, values), context, o)

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


# Small models. Metrics of the same comparer share its answers.


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


def _small(
    name: str,
    comparer: str,
    request: Callable[[Batch, int], ComparisonRequest | None],
    value: Callable[[Comparison], float],
    doc: str,
    options: Mapping[str, MetricOption],
) -> Metric:
    """A metric of a small model; an item that is not asked about lacks a field."""
    of_contexts = request is _contexts

    def written(o: Options) -> str:
        """The comparer, without options that have their default."""
        changed = {
            name: o[name]
            for name, option in options.items()
            if name != "model" and o[name] != option.default
        }
        return ComponentSpec("comparer", comparer, o.get("model"), changed).written

    def requests(context: BatchContext, _o: Options) -> Requests:
        batch = context.batch
        return context.once(request, lambda: [request(batch, i) for i in range(len(batch))])

    def finish(column: Column, context: BatchContext, o: Options) -> Column:
        not_asked = np.array([one is None for one in requests(context, o)], np.bool_)
        column = column.without(not_asked, Status.MISSING_FIELD)
        return apply_abstain(column, context, o) if of_contexts else column

    needs = ("references", "question") if request is _answers else ("references",)
    return _metric(
        name,
        "faithfulness" if of_contexts else "correctness",
        ("contexts",) if of_contexts else needs,
        doc,
        "5.1" if of_contexts else "4.1",
        written,
        requests,
        finish,
        {**options, **abstain_option("as_is")} if of_contexts else options,
        value,
        extra="hf",
    )


def _named(value: str) -> Callable[[Comparison], float]:
    return lambda comparison: comparison.values[value]


# Language models.


def _history(batch: Batch, item: int) -> str:
    """The earlier turns, one line each."""
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
    """A metric of a language model's yes or no about the items whose responses are not blank."""

    def written(o: Options) -> str:
        """The comparer, with the user's prompt where there is one."""
        path = o["prompt"]
        named = comparer or name.replace("_", "-")
        return ComponentSpec("comparer", named, None, {"prompt": path} if path else {}).written

    def request(batch: Batch, i: int) -> ComparisonRequest:
        shown, question = tuple(texts(batch, i)), batch.questions[i] or ""
        return ComparisonRequest(batch.responses[i], shown, question, _history(batch, i))

    def requests(context: BatchContext, o: Options) -> Requests:
        batch = context.batch
        asked = (items(context, o) & ~_blank(batch)).tolist()
        return [request(batch, i) if asked[i] else None for i in range(len(batch))]

    declared = {**(options or {}), "prompt": MetricOption("")}
    return _metric(
        name,
        family,
        needs,
        doc,
        section,
        written,
        requests,
        finish,
        declared,
        higher_is_better=higher_is_better,
    )


def _with_references(context: BatchContext, _o: Options) -> Mask:
    return context.batch.has("references") & context.batch.has("question")


def _with_contexts(context: BatchContext, o: Options) -> Mask:
    """What the policy leaves out, or gives a value of its own, is not asked about."""
    items = context.batch.has("contexts")
    return items if o["abstain"] == "as_is" else items & ~context.abstained


def _faithfulness(column: Column, context: BatchContext, o: Options) -> Column:
    return apply_abstain(column.without(_blank(context.batch), Status.NO_CLAIMS), context, o)


def _abstention(
    name: str, flags: Sequence[bool | None], doc: str, higher_is_better: bool
) -> Metric:
    """Whether items with one of these flags for `answerable` decline; the others are left out.

    An empty response does not decline, and is not asked about.
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
        "1 if a language model finds all of some reference in the response, and nothing against it",
        "4.1",
        _with_references,
        texts=lambda batch, item: batch.references[item] or (),
    ),
    _large(
        "llm_faithfulness",
        "faithfulness",
        ("contexts",),
        "1 if a language model finds all of the response in the contexts",
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
    _abstention("llm_p_ir", (False,), "share of llm_abstained among the unanswerable items", True),
    _abstention("llm_p_g", (True,), "share of llm_abstained among the answerable items", False),
)
