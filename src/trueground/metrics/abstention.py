"""Metrics of abstention: whether a response declines to answer, and whether it should.

The definitions are in docs/metrics.md, "Abstention" and "FaithEval accuracy", and in Adlakha et
al., section 5.3.
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
# The name of the phrase list is part of the signature, because a new list changes values.
_RULES = {
    "rules": MetricOption(REFUSAL_RULES.name, (REFUSAL_RULES.name,)),
    "variant": MetricOption("default", ("default", "contains")),
}
# FaithEval, appendix A: phrases that say that there is no answer, or that the contexts conflict.
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
    """Return 1 for each response that abstains, with its phrase as a note."""
    phrases = context.refusals
    if options["variant"] == "contains":
        phrases = [REFUSAL_RULES.find_phrase(response) for response in context.batch.responses]
    column = Column.of(np.array([phrase is not None for phrase in phrases], np.bool_))
    return replace(column, notes=[{"phrase": p} if p is not None else {} for p in phrases])


def _rate(name: str, answerable: bool, doc: str) -> Metric:
    def compute(context: BatchContext, options: Options) -> Column:
        flags = context.batch.answerable
        excluded = np.array([f is not None and f != answerable for f in flags], np.bool_)
        column = replace(_abstained(context, options), notes=None)
        return column.without(excluded, Status.NOT_APPLICABLE)

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


def _phrase_match(name: str, list_name: str, whole_words: bool, doc: str) -> Metric:
    def compute(context: BatchContext, options: Options) -> Column:
        phrases = PHRASES[options["task"]][list_name]
        fixed = {"normalizer": "faitheval", "lang": "en"}
        responses = context.responses({**fixed, "read": options["read"]})
        matches = [find_phrase(response, phrases, whole_words) for response in responses]
        return Column.of(np.array([match is not None for match in matches]))

    return Metric(
        name=name,
        family="abstention",
        compute=compute,
        doc=doc,
        source=FAITHEVAL_SOURCE,
        options=_PHRASE_OPTIONS,
    )


def find_phrase(normalized: str, phrases: Iterable[str], whole_words: bool) -> str | None:
    """Return the first of `phrases` in a normalized text, or None.

    Args:
        normalized: The text, normalized and with single spaces.
        phrases: The phrases, normalized in the same way.
        whole_words: Whether a phrase must begin and end at word boundaries. The paper's rule
            accepts any substring, so "not" is in "another".
    """
    for phrase in phrases:
        matches = contains_words(normalized, phrase) if whole_words else phrase in normalized
        if matches:
            return phrase
    return None


METRICS = (
    Metric(
        name="abstained",
        family="abstention",
        compute=_abstained,
        doc="1 if the response declines to answer because information is missing, else 0",
        source=_SOURCE,
        options=_RULES,
        higher_is_better=False,
    ),
    _rate("p_ir", False, "share of the unanswerable items whose response abstains"),
    _rate("p_g", True, "share of the answerable items whose response abstains"),
    _phrase_match(
        "phrase_match_strict",
        "strict",
        False,
        'as phrase_match, but only "unknown" counts (or "conflict", with task=inconsistent)',
    ),
    _phrase_match(
        "phrase_match",
        "loose",
        False,
        'FaithEval: 1 if the response contains a phrase such as "unknown" or "no answer"',
    ),
    _phrase_match(
        "phrase_match_word", "loose", True, "as phrase_match, but only whole words count"
    ),
)
