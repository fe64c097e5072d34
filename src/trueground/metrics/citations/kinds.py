"""The kinds of checks about citations, and who makes the requests of each."""

from __future__ import annotations

from trueground.metrics.citations import alignment, missing, passages
from trueground.metrics.citations.asked import Maker

MAKERS: dict[str, Maker] = {
    "alignment": alignment.asked,
    "missing": missing.asked,
    "passages": passages.asked,
}
