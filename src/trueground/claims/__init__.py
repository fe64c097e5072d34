"""Claims: from a text to the statements in it that can be checked, each with its source span."""

from __future__ import annotations

from collections.abc import Callable

from trueground.claims.base import Decomposer
from trueground.claims.rules import RuleDecomposer
from trueground.errors import unknown_name

__all__ = ["Decomposer", "RuleDecomposer", "decomposers", "get_decomposer"]

decomposers: dict[str, Callable[[], Decomposer]] = {"rules": RuleDecomposer}


def get_decomposer(name: str) -> Decomposer:
    """Return a new decomposer; an unknown name raises UsageError with the known ones."""
    try:
        return decomposers[name]()
    except KeyError:
        raise unknown_name("decomposer", name, decomposers) from None
