"""Judges: does this evidence support this claim? One protocol, one contract test for all."""

from __future__ import annotations

from collections.abc import Callable

from trueground.judges.base import Judge, ask
from trueground.judges.lexical import LexicalJudge
from trueground.plugins import add, make, read_given

__all__ = ["Judge", "LexicalJudge", "ask", "get_judge", "judge", "judges"]

Factory = Callable[..., Judge]
judges: dict[str, Factory] = {"lexical": LexicalJudge}


def get_judge(text: str, *, cache: bool = True) -> Judge:
    """Return a new judge from `NAME:MODEL(option=value)`. Raises UsageError."""
    return make("judge", judges, read_given("judge", text, cache=cache))


def judge(name: str) -> Callable[[Factory], Factory]:
    """Decorator: register a class, or a function that makes a judge, under a name.

    It is called without arguments, or with a `Given` where it has a parameter.
    """

    def register(factory: Factory) -> Factory:
        add("judge", judges, name, factory)
        return factory

    return register
