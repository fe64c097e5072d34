"""Judges: does this evidence support this claim? One protocol, one contract test for all."""

from __future__ import annotations

from collections.abc import Callable

from trueground.errors import unknown_name
from trueground.judges.base import Judge, ask
from trueground.judges.lexical import LexicalJudge

__all__ = ["Judge", "LexicalJudge", "ask", "get_judge", "judges"]

judges: dict[str, Callable[[], Judge]] = {"lexical": LexicalJudge}


def get_judge(name: str) -> Judge:
    """Return a new judge; an unknown name raises UsageError with the known ones."""
    try:
        return judges[name]()
    except KeyError:
        raise unknown_name("judge", name, judges) from None
