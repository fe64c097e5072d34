"""METEOR as NLTK gives it; an optional install."""

from __future__ import annotations

import numpy as np

from trueground.metrics.base import Metric, Option
from trueground.metrics.column import Column, Options
from trueground.metrics.evidence import BatchContext


def _meteor(evidence: BatchContext, options: Options) -> Column:
    from trueground.text.meteor import meteor

    batch = evidence.batch
    wordnet = options["wordnet"] or None
    values = [
        meteor(u, refs, wordnet) if refs else np.nan
        for u, refs in zip(batch.responses, batch.references, strict=True)
    ]
    return Column.of(np.array(values, np.float64))


def _prepare(options: Options) -> None:
    from trueground.text.meteor import prepare

    prepare(options["wordnet"] or None)


METRICS = (
    Metric(
        "meteor",
        "correctness",
        ("references",),
        _meteor,
        "METEOR: aligned words by form, stem and WordNet synonym",
        "Banerjee and Lavie 2005",
        {"wordnet": Option("")},
        prepare=_prepare,
        extra="meteor",
        in_default_set=False,
    ),
)
