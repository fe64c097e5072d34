"""Raters: how good is this response under a rubric, from 1 to 5? G-Eval's form filling."""

from __future__ import annotations

from collections.abc import Callable

from trueground.judges.rating.base import Rater
from trueground.judges.rating.rater import LLMRater
from trueground.plugins import make, parse_part

__all__ = ["LLMRater", "Rater", "make_rater", "raters"]

raters: dict[str, Callable[..., Rater]] = {"llm": LLMRater}


def make_rater(text: str, *, cache: bool = True) -> Rater:
    """Return a new rater from `NAME:MODEL(option=value)`. Raises UsageError."""
    return make("rater", raters, parse_part("rater", text, cache=cache))
