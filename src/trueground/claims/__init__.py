"""Claims: from a text to the statements in it that can be checked, each with its source span."""

from __future__ import annotations

from collections.abc import Callable

from trueground.claims.base import Decomposer
from trueground.claims.rules import RuleDecomposer
from trueground.plugins import add, find

__all__ = ["Decomposer", "RuleDecomposer", "decomposer", "decomposers", "get_decomposer"]

Factory = Callable[[], Decomposer]
decomposers: dict[str, Factory] = {"rules": RuleDecomposer}


def get_decomposer(name: str) -> Decomposer:
    """Return a new decomposer; an unknown name raises UsageError with the known ones."""
    return find("decomposer", decomposers, name)()


def decomposer(name: str) -> Callable[[Factory], Factory]:
    """Decorator: register a class, or a function that makes a decomposer, under a name."""

    def register(factory: Factory) -> Factory:
        add("decomposer", decomposers, name, factory)
        return factory

    return register
