"""A question of any of the datasets, and what is known of its gold passages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trueground.retrieval.gold import GoldPassage as Gold
from trueground.types import Turn

__all__ = ["Gold", "QaQuestion"]


@dataclass(frozen=True)
class QaQuestion:
    """One question; `place` is where it stands, `gold` is empty where none is known.

    `answerable` is what the data say of it. `retrieval_query` is what a user would search for.
    """

    place: str
    id: str
    question: str
    references: tuple[str, ...]
    history: tuple[Turn, ...] = ()
    gold: tuple[Gold, ...] = ()
    group: str | None = None
    answerable: bool | None = None
    retrieval_query: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
