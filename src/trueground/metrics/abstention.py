"""Does the response decline to answer, and should it?

Definitions: metrics.md, "Abstention"; Adlakha et al., section 5.3.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trueground.metrics.base import Metric, MetricOption
from trueground.metrics.column import Column, Options
from trueground.metrics.context import BatchContext
from trueground.text.refusal import REFUSAL_RULES, find_refusal_phrase
from trueground.types import Status

SOURCE = "Adlakha et al. 2023, section 5.3"
# The phrase list is part of the signature, so that a new list is a new measurement.
_RULES = {
    "rules": MetricOption(REFUSAL_RULES, (REFUSAL_RULES,)),
    "variant": MetricOption("default", ("default", "contains")),
}


def _declined(context: BatchContext, options: Options) -> list[str | None]:
    """For each item the phrase that declines, if any."""
    if options["variant"] == "default":
        return context.refusals
    return [find_refusal_phrase(response) for response in context.batch.responses]


def _abstained(context: BatchContext, options: Options) -> Column:
    found = _declined(context, options)
    column = Column.of(np.array([phrase is not None for phrase in found], np.bool_))
    return replace(column, notes=[{"phrase": p} if p is not None else {} for p in found])


def _rate(name: str, answerable: bool, doc: str) -> Metric:
    def compute(context: BatchContext, options: Options) -> Column:
        flags = context.batch.answerable
        other = np.array([f is not None and f != answerable for f in flags], np.bool_)
        column = replace(_abstained(context, options), notes=None)
        return column.without(other, Status.NOT_APPLICABLE)

    return Metric(
        name,
        "abstention",
        ("answerable",),
        compute,
        doc,
        SOURCE,
        _RULES,
        higher_is_better=not answerable,
    )


METRICS = (
    Metric(
        "abstained",
        "abstention",
        (),
        _abstained,
        "1 if the response declines to answer for lack of information",
        SOURCE,
        _RULES,
        higher_is_better=False,
    ),
    _rate("p_ir", False, "share that abstains among the unanswerable items"),
    _rate("p_g", True, "share that abstains among the answerable items"),
)
