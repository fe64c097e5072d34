"""Correctness, faithfulness and abstention as a language model sees them: yes or no.

Definitions: metrics.md, "Correctness against references", "Faithfulness to the given knowledge",
"Abstention"; Adlakha et al., sections 4.1, 5.1 and 5.3. The model is the one that `--rater` names;
here stands what it is shown, and which items it is asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from trueground.metrics.base import Metric, MetricOption, abstain_option, apply_abstain
from trueground.metrics.batch import Batch
from trueground.metrics.column import Column, Mask, Options
from trueground.metrics.compared import comparison_values
from trueground.metrics.context import BatchContext
from trueground.plugins import format_part
from trueground.types import ComparisonRequest, Status

# Which items are asked about, and after the answers are in, what else becomes of the column.
Items = Callable[[BatchContext, Options], Mask]
Finish = Callable[[Column, BatchContext, Options], Column]


def _history(batch: Batch, item: int) -> str:
    """The earlier turns, one line each."""
    turns = batch.histories[item] or ()
    lines = ((f"{t.role}: " if t.role else "") + " ".join(t.content.split()) for t in turns)
    return "\n".join(lines)


def _blank(batch: Batch) -> Mask:
    return np.fromiter((not text.strip() for text in batch.responses), np.bool_, len(batch))


def _metric(
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
    """A metric of a language model's yes or no; items that are not asked about are 0."""

    def written(o: Options) -> str:
        """The comparer, with the user's prompt where there is one."""
        path = o["prompt"]
        return format_part(
            comparer or name.replace("_", "-"), None, {"prompt": path} if path else {}
        )

    def requests(context: BatchContext, o: Options) -> list[ComparisonRequest | None]:
        batch = context.batch
        asked = (items(context, o) & ~_blank(batch)).tolist()
        return [
            ComparisonRequest(
                batch.responses[i],
                tuple(texts(batch, i)),
                batch.questions[i] or "",
                _history(batch, i),
            )
            if asked[i]
            else None
            for i in range(len(batch))
        ]

    def compute(context: BatchContext, o: Options) -> Column:
        found = context.comparisons(written(o), requests(context, o))
        values = comparison_values(found, lambda comparison: next(iter(comparison.values.values())))
        column = Column.of(np.zeros(len(context.batch))).filled(found, values)
        return finish(column, context, o)

    return Metric(
        name,
        family,
        needs,
        compute,
        doc,
        f"Adlakha et al. 2023, section {section}",
        {**(options or {}), "prompt": MetricOption("")},
        comparer=written,
        comparison_requests=requests,
        in_default_set=False,
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

    def finish(column: Column, context: BatchContext, o: Options) -> Column:
        return column.without(~items(context, o), Status.NOT_APPLICABLE)

    return _metric(
        name,
        "abstention",
        ("answerable",) if None not in flags else (),
        doc,
        "5.3",
        items,
        comparer="llm-abstention",
        finish=finish,
        higher_is_better=higher_is_better,
    )


METRICS = (
    _metric(
        "llm_correctness",
        "correctness",
        ("references", "question"),
        "1 if a language model finds all of some reference in the response, and nothing against it",
        "4.1",
        _with_references,
        texts=lambda batch, item: batch.references[item] or (),
    ),
    _metric(
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
