"""Judges: does this evidence support this claim? One protocol, one contract test for all."""

from __future__ import annotations

from collections.abc import Callable

from trueground.judges.base import Judge, ask
from trueground.judges.lexical import LexicalJudge
from trueground.plugins import add, find

__all__ = ["Judge", "LexicalJudge", "ask", "get_judge", "judge", "judges"]

Factory = Callable[[], Judge]
judges: dict[str, Factory] = {"lexical": LexicalJudge}


def get_judge(name: str) -> Judge:
    """Return a new judge; an unknown name raises UsageError with the known ones."""
    return find("judge", judges, name)()


def judge(name: str) -> Callable[[Factory], Factory]:
    """Decorator: register a class, or a function that makes a judge, under a name."""

    def register(factory: Factory) -> Factory:
        add("judge", judges, name, factory)
        return factory

    return register
