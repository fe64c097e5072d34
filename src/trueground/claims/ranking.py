"""Rankers: they find the texts that are nearest to a query, such as demonstrations for a prompt.

A package names a module as an entry point of the group `trueground.rankers`, by the ranker's name.
The module registers the ranker with `ranker`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from trueground.components import Registry
from trueground.errors import UsageError


class Ranker(Protocol):
    """Texts in memory that can be searched.

    Attributes:
        signature: What fixes the order: name, version and options.
    """

    signature: str

    def rank(self, queries: Sequence[str], top: int) -> list[list[int]]:
        """Return the indices of at most `top` texts for each query, nearest first.

        A text that has nothing in common with the query is left out.
        """
        ...


RankerFactory = Callable[[Sequence[str]], Ranker]
_rankers = Registry[RankerFactory]("ranker")


def ranker(name: str) -> Callable[[RankerFactory], RankerFactory]:
    """Register a function from texts to their ranker under a name."""

    def register(factory: RankerFactory) -> RankerFactory:
        _rankers.register(name, factory)
        return factory

    return register


def make_ranker(name: str, texts: Sequence[str]) -> Ranker:
    """Return the ranker of that name over the texts.

    Raises:
        UsageError: No installed package has a ranker of that name.
        MissingExtraError: The ranker needs an optional package.
    """
    _rankers.load_component(name)
    if name not in _rankers:
        raise UsageError(
            f"The demonstrations of a prompt are ranked by {name}, and no installed package has a "
            "ranker of that name. bm25 is part of the wing 'search'. Reinstall trueground."
        )
    return _rankers[name](texts)
