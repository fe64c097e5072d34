"""Options that several metrics share."""

from __future__ import annotations

from trueground.metrics.base import Option
from trueground.metrics.column import Column, Options
from trueground.metrics.evidence import Evidence
from trueground.text.normalize import NORMALIZERS
from trueground.types import Status

LEXICAL = {"normalizer": Option("squad", NORMALIZERS), "lang": Option("en")}
ABSTAIN = ("as_is", "exclude", "one", "zero")


def abstain_option(default: str) -> dict[str, Option]:
    """The option `abstain`: what becomes of items whose response declines to answer."""
    return {"abstain": Option(default, ABSTAIN)}


def apply_abstain(column: Column, evidence: Evidence, options: Options) -> Column:
    """The column under the metric's abstention policy."""
    policy = options["abstain"]
    if policy == "as_is":
        return column
    if policy == "exclude":
        return column.without(evidence.abstained, Status.ABSTAINED)
    return column.replaced(evidence.abstained, 1.0 if policy == "one" else 0.0)
