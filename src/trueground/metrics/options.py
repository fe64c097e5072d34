"""Options that several metrics share."""

from __future__ import annotations

from trueground.errors import UsageError
from trueground.metrics.base import Option
from trueground.metrics.column import Column, Options
from trueground.metrics.evidence import BatchContext
from trueground.text.normalize import NORMALIZERS
from trueground.types import Status

LEXICAL = {"normalizer": Option("squad", NORMALIZERS), "lang": Option("en")}
# answer: only the part of a response that answers, for replies that give their reasons too.
READ = {"read": Option("whole", ("whole", "answer"))}
ABSTAIN = ("as_is", "exclude", "one", "zero")


def whole_number(metric: str, name: str, options: Options, least: int, most: int) -> int:
    """The option as a whole number, written without leading zeros. UsageError where it is none."""
    word = options[name]
    known = word.isascii() and word.isdecimal() and len(word) <= len(str(most))
    if known and word == str(int(word)) and least <= int(word) <= most:
        return int(word)
    shown = word if len(word) <= 20 else f"{word[:20]}…"
    raise UsageError(f"{metric}: {name}={shown!r}; expected a whole number, {least} to {most:,}")


def abstain_option(default: str) -> dict[str, Option]:
    """The option `abstain`: what becomes of items whose response declines to answer."""
    return {"abstain": Option(default, ABSTAIN)}


def apply_abstain(column: Column, evidence: BatchContext, options: Options) -> Column:
    """The column under the metric's abstention policy."""
    policy = options["abstain"]
    if policy == "as_is":
        return column
    if policy == "exclude":
        return column.without(evidence.abstained, Status.ABSTAINED)
    return column.replaced(evidence.abstained, 1.0 if policy == "one" else 0.0)
