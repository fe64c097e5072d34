"""Lexical faithfulness to the given knowledge.

Definitions: metrics.md, "Faithfulness to the given knowledge"; Adlakha et al., section 5.1. The
`_pp` metrics discount the tokens of question and history (K-F1++ of Chiesurin et al. 2023).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from trueground.metrics.base import Metric, Option
from trueground.metrics.column import Column, Floats, Options
from trueground.metrics.correctness import f1_of
from trueground.metrics.evidence import BatchContext, ratio
from trueground.metrics.options import LEXICAL, abstain_option, apply_abstain
from trueground.metrics.overlap import Overlap

SOURCE = "Adlakha et al. 2023, section 5.1"
_OPTIONS = {**LEXICAL, **abstain_option("as_is")}
_PASSAGE = {"abstention_passage": Option("false", ("false", "true"))}


def _if_left(o: Overlap, values: Floats) -> Floats:
    """1 where the discount leaves no token of the response."""
    return np.where(o.left > 0, values, 1.0)


def _metric(
    name: str,
    values: Callable[[Overlap], Floats],
    doc: str,
    needs: tuple[str, ...] = ("contexts",),
    options: Mapping[str, Option] = _OPTIONS,
) -> Metric:
    def compute(evidence: BatchContext, o: Options) -> Column:
        column = Column.of(values(evidence.knowledge_overlap(o)))
        return apply_abstain(column, evidence, o)

    return Metric(name, "faithfulness", needs, compute, doc, SOURCE, options)


_HEARD = ("contexts", "question")

METRICS = (
    _metric(
        "k_precision",
        lambda o: ratio(o.common, o.a, 0.0),
        "share of the response's tokens that are in the contexts",
        options={**_OPTIONS, **_PASSAGE},
    ),
    _metric(
        "k_recall",
        lambda o: ratio(o.common, o.b, 0.0),
        "share of the contexts' tokens that are in the response",
    ),
    _metric("k_f1", f1_of, "token F1 of response and contexts"),
    _metric(
        "k_precision_pp",
        lambda o: ratio(o.left_common, o.left, 1.0),
        "k_precision without the tokens of question and history",
        _HEARD,
    ),
    _metric(
        "k_recall_pp",
        lambda o: _if_left(o, ratio(o.left_common, o.b, 0.0)),
        "k_recall without the tokens of question and history",
        _HEARD,
    ),
    _metric(
        "k_f1_pp",
        lambda o: _if_left(o, ratio(2 * o.left_common, o.left + o.b, 1.0)),
        "k_f1 without the tokens of question and history",
        _HEARD,
    ),
)
