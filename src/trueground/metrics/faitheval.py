"""FaithEval's accuracy: phrase match, and the choice in multiple-choice questions.

Definitions: metrics.md, "FaithEval accuracy".
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trueground.metrics.base import READ, Metric, MetricOption
from trueground.metrics.column import Column, Options
from trueground.metrics.context import BatchContext
from trueground.text.choices import chosen_label, mentioned_labels, right_labels
from trueground.text.normalize import FAITHEVAL
from trueground.text.refusal import PHRASES, find_phrase
from trueground.types import Status

SOURCE = "Ming et al. 2024 (FaithEval), section 4"
_OPTIONS = {"task": MetricOption("unanswerable", tuple(PHRASES)), **READ}
_FIXED = {"normalizer": "faitheval", "lang": "en"}


def _phrase_metric(name: str, phrases: str, words: bool, doc: str) -> Metric:
    def compute(context: BatchContext, options: Options) -> Column:
        wanted = PHRASES[options["task"]][phrases]
        responses = context.responses({**_FIXED, "read": options["read"]})
        return Column.of(np.array([find_phrase(u, wanted, words) is not None for u in responses]))

    return Metric(name, "abstention", (), compute, doc, SOURCE, _OPTIONS, in_default_set=False)


def _choice_accuracy(context: BatchContext, options: Options) -> Column:
    batch = context.batch
    normalise: Callable[[str], str] = FAITHEVAL.rule
    values = np.zeros(len(batch))
    undecidable = np.zeros(len(batch), np.bool_)
    for i, (choices, references) in enumerate(zip(batch.choices, batch.references, strict=True)):
        if not choices or not references:
            continue
        right = right_labels(references, choices, normalise)
        undecidable[i] = not right
        response = batch.responses[i]
        if options["variant"] == "mentions":
            values[i] = bool(mentioned_labels(response, choices, normalise) & right)
        else:
            values[i] = chosen_label(response, choices, normalise) in right
    return Column.of(values).without(undecidable, Status.NOT_APPLICABLE)


METRICS = (
    _phrase_metric("phrase_match_strict", "strict", False, "1 if the response says the one phrase"),
    _phrase_metric("phrase_match", "loose", False, "1 if the response contains a valid phrase"),
    _phrase_metric(
        "phrase_match_word", "loose", True, "phrase_match with phrases on word boundaries"
    ),
    Metric(
        "choice_accuracy",
        "correctness",
        ("choices", "references"),
        _choice_accuracy,
        "1 if the response picks the right option, by label or by text",
        SOURCE,
        {"variant": MetricOption("answer", ("answer", "mentions"))},
        version=2,
    ),
)
