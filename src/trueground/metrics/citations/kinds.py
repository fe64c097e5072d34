"""The kinds of checks about citations, and who makes the requests of each."""

from __future__ import annotations

from trueground.metrics.citations import alignment, missing, passage_questions
from trueground.metrics.citations.asked import Maker

MAKERS: dict[str, Maker] = {
    "alignment": alignment.asked,
    "missing": missing.asked,
    "passages": passage_questions.asked,
}
