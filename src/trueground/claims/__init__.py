"""Claims: from a text to the statements in it that can be checked, each with its source span."""

from __future__ import annotations

from collections.abc import Callable

from trueground.claims.base import Decomposed, Decomposer
from trueground.claims.rules import RuleDecomposer
from trueground.plugins import PartSpec, load_plugins, make_part, parse_part, register_part

__all__ = [
    "Decomposed",
    "Decomposer",
    "RuleDecomposer",
    "decomposer",
    "decomposers",
    "get_decomposer",
    "kinds",
]

Factory = Callable[..., Decomposer]


def _llm(given: PartSpec) -> Decomposer:
    """A chat model takes each sentence apart: llm:MODEL(base_url=URL)."""
    from trueground.claims.llm import LLMDecomposer

    return LLMDecomposer(given)


decomposers: dict[str, Factory] = {"rules": RuleDecomposer, "llm": _llm}


def kinds() -> list[dict[str, str]]:
    """Every kind of decomposer by `name`, as a user writes it, and `doc`; none is made."""
    load_plugins("decomposer")
    return [
        {
            "name": "llm:MODEL" if name == "llm" else name,
            "doc": (factory.__doc__ or "").strip().partition("\n")[0],
        }
        for name, factory in decomposers.items()
    ]


def get_decomposer(text: str, *, cache: bool = True) -> Decomposer:
    """Return a new decomposer from `NAME:MODEL(option=value)`. Raises UsageError."""
    return make_part("decomposer", decomposers, parse_part("decomposer", text, cache=cache))


def decomposer(name: str) -> Callable[[Factory], Factory]:
    """Decorator: register a class, or a function that makes a decomposer, under a name.

    It is called without arguments, or with a `Given` where it has a parameter `given`.
    """

    def register(factory: Factory) -> Factory:
        register_part("decomposer", decomposers, name, factory)
        return factory

    return register
