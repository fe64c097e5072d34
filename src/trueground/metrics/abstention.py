"""Does the response decline to answer, and should it? Does it say one of FaithEval's phrases?

Definitions: metrics.md, "Abstention" and "FaithEval accuracy"; Adlakha et al., section 5.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from trueground.metrics.base import FAITHEVAL_SOURCE, READ, Metric, MetricOption
from trueground.metrics.batch import Column, Options
from trueground.metrics.context import BatchContext
from trueground.text import REFUSAL_RULES, contains_words
from trueground.types import Status

_SOURCE = "Adlakha et al. 2023, section 5.3"
# The phrase list is part of the signature, so that a new list is a new measurement.
_RULES = {
    "rules": MetricOption(REFUSAL_RULES.name, (REFUSAL_RULES.name,)),
    "variant": MetricOption("default", ("default", "contains")),
}
# FaithEval, appendix A: what counts as having said that there is no answer, or a conflict.
PHRASES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "unanswerable": {
        "strict": ("unknown",),
        "loose": ("unknown", "no answer", "no information", "not", "unclear"),
    },
    "inconsistent": {
        "strict": ("conflict",),
        "loose": (
            *("conflict", "conflicting", "disagreement", "inconsistent", "contradictory"),
            *("contradiction", "inconsistency", "two answers", "2 answers", "multiple answers"),
        ),
    },
}
_PHRASE_OPTIONS = {"task": MetricOption("unanswerable", tuple(PHRASES)), **READ}


def _abstained(context: BatchContext, options: Options) -> Column:
    """With the phrase that declines."""
    found = context.refusals
    if options["variant"] == "contains":
        found = [REFUSAL_RULES.find_phrase(response) for response in context.batch.responses]
    column = Column.of(np.array([phrase is not None for phrase in found], np.bool_))
    return replace(column, notes=[{"phrase": p} if p is not None else {} for p in found])


def _rate(name: str, answerable: bool, doc: str) -> Metric:
    def compute(context: BatchContext, options: Options) -> Column:
        flags = context.batch.answerable
        other = np.array([f is not None and f != answerable for f in flags], np.bool_)
        column = replace(_abstained(context, options), notes=None)
        return column.without(other, Status.NOT_APPLICABLE)

    return Metric(
        name=name,
        family="abstention",
        needs=("answerable",),
        compute=compute,
        doc=doc,
        source=_SOURCE,
        options=_RULES,
        higher_is_better=not answerable,
    )


def _phrase_match(name: str, phrases: str, words: bool, doc: str) -> Metric:
    def compute(context: BatchContext, options: Options) -> Column:
        wanted = PHRASES[options["task"]][phrases]
        fixed = {"normalizer": "faitheval", "lang": "en"}
        responses = context.responses({**fixed, "read": options["read"]})
        return Column.of(np.array([find_phrase(u, wanted, words) is not None for u in responses]))

    return Metric(
        name=name,
        family="abstention",
        compute=compute,
        doc=doc,
        source=FAITHEVAL_SOURCE,
        options=_PHRASE_OPTIONS,
    )


def find_phrase(normalized: str, phrases: Iterable[str], words: bool) -> str | None:
    """The first of `phrases` that occurs in the normalized text, or None.

    Both sides are already normalized, with single spaces. With `words` a phrase must begin and end
    at word boundaries; without, any substring will do (the paper's rule: "not" is in "another").
    """
    for phrase in phrases:
        if contains_words(normalized, phrase) if words else phrase in normalized:
            return phrase
    return None


METRICS = (
    Metric(
        name="abstained",
        family="abstention",
        compute=_abstained,
        doc="1 if the response declines to answer for lack of information",
        source=_SOURCE,
        options=_RULES,
        higher_is_better=False,
    ),
    _rate("p_ir", False, "share that abstains among the unanswerable items"),
    _rate("p_g", True, "share that abstains among the answerable items"),
    _phrase_match("phrase_match_strict", "strict", False, "1 if the response says the one phrase"),
    _phrase_match("phrase_match", "loose", False, "1 if the response contains a valid phrase"),
    _phrase_match(
        "phrase_match_word", "loose", True, "phrase_match with phrases on word boundaries"
    ),
)
