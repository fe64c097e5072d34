"""Claims: from a text to the statements in it that can be checked, each with its source span."""

from __future__ import annotations

from collections.abc import Callable

from trueground.claims.base import Decomposed, Decomposer
from trueground.claims.rules import RuleDecomposer
from trueground.plugins import Given, add, make, read_given

__all__ = [
    "Decomposed",
    "Decomposer",
    "RuleDecomposer",
    "decomposer",
    "decomposers",
    "get_decomposer",
]

Factory = Callable[..., Decomposer]


def _llm(given: Given) -> Decomposer:
    """A chat model takes each sentence apart: llm:MODEL(base_url=URL)."""
    from trueground.claims.llm import LLMDecomposer

    return LLMDecomposer(given)


decomposers: dict[str, Factory] = {"rules": RuleDecomposer, "llm": _llm}


def get_decomposer(text: str, *, cache: bool = True) -> Decomposer:
    """Return a new decomposer from `NAME:MODEL(option=value)`. Raises UsageError."""
    return make("decomposer", decomposers, read_given("decomposer", text, cache=cache))


def decomposer(name: str) -> Callable[[Factory], Factory]:
    """Decorator: register a class, or a function that makes a decomposer, under a name.

    It is called without arguments, or with a `Given` where it has a parameter `given`.
    """

    def register(factory: Factory) -> Factory:
        add("decomposer", decomposers, name, factory)
        return factory

    return register
