"""Correctness, faithfulness and abstention as a language model sees them: yes or no.

Definitions: metrics.md, "Correctness against references", "Faithfulness to the given knowledge",
"Abstention"; Adlakha et al., sections 4.1, 5.1 and 5.3. The evaluation asks the model that
`--rater` names; here stands what it is shown, and which items it is asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from trueground.metrics.answers import filled
from trueground.metrics.base import Metric, Option
from trueground.metrics.column import Column, Mask, Options
from trueground.metrics.evidence import BatchContext
from trueground.metrics.options import abstain_option, apply_abstain
from trueground.plugins import write
from trueground.types import Comparison, ComparisonRequest, Status

_PROMPT = {"prompt": Option("")}
Texts = Callable[[BatchContext, int], Sequence[str]]


def _asked(name: str, options: Options) -> str:
    """The comparer, with the user's prompt where there is one. UsageError."""
    path = options["prompt"]
    return write(name, None, {"prompt": path} if path else {})


def _history(evidence: BatchContext, item: int) -> str:
    """The earlier turns, one line each."""
    turns = evidence.batch.histories[item] or ()
    lines = ((f"{t.role}: " if t.role else "") + " ".join(t.content.split()) for t in turns)
    return "\n".join(lines)


def _compared(
    evidence: BatchContext, asked: str, key: object, items: Mask, texts: Texts
) -> list[Comparison | None]:
    """The comparisons of these items; None for the others."""
    batch = evidence.batch
    requests = [
        ComparisonRequest(
            batch.responses[i],
            tuple(texts(evidence, i)),
            batch.questions[i] or "",
            _history(evidence, i),
        )
        if items[i]
        else None
        for i in range(len(batch))
    ]
    return evidence.comparisons(key, asked, requests)


def _only(comparison: Comparison) -> float:
    return next(iter(comparison.values.values()))


def _blank(evidence: BatchContext) -> Mask:
    batch = evidence.batch
    return np.fromiter((not text.strip() for text in batch.responses), np.bool_, len(batch))


def _zeros(evidence: BatchContext) -> Column:
    return Column.of(np.zeros(len(evidence.batch)))


def _references(evidence: BatchContext, item: int) -> Sequence[str]:
    return evidence.batch.references[item] or ()


def _contexts(evidence: BatchContext, item: int) -> Sequence[str]:
    return evidence.batch.texts(item, evidence.batch.kept(item))


def _nothing(_evidence: BatchContext, _item: int) -> Sequence[str]:
    return ()


def _correctness(evidence: BatchContext, o: Options) -> Column:
    """An empty response is 0 without being asked about."""
    batch = evidence.batch
    items = batch.has("references") & batch.has("question") & ~_blank(evidence)
    asked = _asked("llm-correctness", o)
    found = _compared(evidence, asked, "references", items, _references)
    return filled(_zeros(evidence), found, _only)


def _faithfulness(evidence: BatchContext, o: Options) -> Column:
    """What the policy leaves out, or gives a value of its own, is not asked about."""
    items = evidence.batch.has("contexts") & ~_blank(evidence)
    if o["abstain"] != "as_is":
        items &= ~evidence.abstained
    asked = _asked("llm-faithfulness", o)
    key = "contexts", o["abstain"] == "as_is"
    found = _compared(evidence, asked, key, items, _contexts)
    column = filled(_zeros(evidence), found, _only)
    return apply_abstain(column.without(_blank(evidence), Status.NO_CLAIMS), evidence, o)


def _abstained(evidence: BatchContext, o: Options, flags: Sequence[bool | None]) -> Column:
    """Whether items with one of these flags for `answerable` decline; the others are left out.

    Items are asked about by their flag, so that metrics that share some ask once. An empty response
    does not decline, and is not asked about.
    """
    asked = _asked("llm-abstention", o)
    column, chosen = _zeros(evidence), np.zeros(len(evidence.batch), np.bool_)
    found: list[Comparison | None] = [None] * len(evidence.batch)
    for flag in flags:
        here = np.array([f is flag for f in evidence.batch.answerable], np.bool_)
        some = _compared(evidence, asked, ("answerable", flag), here & ~_blank(evidence), _nothing)
        found = [new or old for new, old in zip(some, found, strict=True)]
        chosen |= here
    return filled(column, found, _only).without(~chosen, Status.NOT_APPLICABLE)


def _metric(
    name: str,
    comparer: str,
    family: str,
    needs: tuple[str, ...],
    compute: Callable[[BatchContext, Options], Column],
    doc: str,
    section: str,
    options: Mapping[str, Option] | None = None,
    higher_is_better: bool = True,
) -> Metric:
    return Metric(
        name,
        family,
        needs,
        compute,
        doc,
        f"Adlakha et al. 2023, section {section}",
        {**(options or {}), **_PROMPT},
        comparer=lambda o: _asked(comparer, o),
        in_default_set=False,
        higher_is_better=higher_is_better,
    )


def _abstention(name: str, flags: Sequence[bool | None], doc: str, higher: bool) -> Metric:
    return _metric(
        name,
        "llm-abstention",
        "abstention",
        ("answerable",) if None not in flags else (),
        lambda evidence, o: _abstained(evidence, o, flags),
        doc,
        "5.3",
        higher_is_better=higher,
    )


METRICS = (
    _metric(
        "llm_correctness",
        "llm-correctness",
        "correctness",
        ("references", "question"),
        _correctness,
        "1 if a language model finds all of some reference in the response, and nothing against it",
        "4.1",
    ),
    _metric(
        "llm_faithfulness",
        "llm-faithfulness",
        "faithfulness",
        ("contexts",),
        _faithfulness,
        "1 if a language model finds all of the response in the contexts",
        "5.1",
        abstain_option("exclude"),
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
