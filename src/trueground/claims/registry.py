"""Claims: from a text to the statements in it that can be checked, each with its source span."""

from __future__ import annotations

from collections.abc import Callable

from trueground.claims.base import Decomposed, Decomposer, SupportsDecompose
from trueground.claims.rules import RuleDecomposer
from trueground.components import ComponentSpec, Registry

__all__ = [
    "Decomposed",
    "Decomposer",
    "RuleDecomposer",
    "SupportsDecompose",
    "decomposer",
    "decomposers",
    "get_decomposer",
    "kinds",
]

Factory = Callable[..., SupportsDecompose]


def _llm(spec: ComponentSpec) -> Decomposer:
    """A chat model takes each sentence apart: llm:MODEL(base_url=URL)."""
    from trueground.claims.llm import LLMDecomposer

    return LLMDecomposer(spec)


_DECOMPOSERS: dict[str, Factory] = {"rules": RuleDecomposer, "llm": _llm}
decomposers = Registry("decomposer", _DECOMPOSERS)


def kinds() -> list[dict[str, str]]:
    """Every kind of decomposer by `name`, as a user writes it, and `doc`; none is made."""
    return [
        {
            "name": "llm:MODEL" if name == "llm" else name,
            "doc": (factory.__doc__ or "").strip().partition("\n")[0],
        }
        for name, factory in decomposers.load().items()
    ]


def get_decomposer(decomposer: str | SupportsDecompose, *, cache: bool = True) -> Decomposer:
    """Return a new decomposer from `NAME:MODEL(option=value)`, or the object that was passed.

    Raises:
        UsageError: There is no such decomposer, or the object isn't one.
    """
    if not isinstance(decomposer, str):
        return Decomposer.adapt(decomposer)
    spec = ComponentSpec.parse("decomposer", decomposer, cache=cache)
    return Decomposer.adapt(decomposers.make(spec))


def decomposer(name: str) -> Callable[[Factory], Factory]:
    """Decorator: register a class, or a function that makes a decomposer, under a name.

    It is called without arguments, or with a `ComponentSpec` if it has a parameter `spec`.
    """

    def register(factory: Factory) -> Factory:
        decomposers.register(name, factory)
        return factory

    return register
