"""A question of any of the datasets, and what is known of its gold passages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trueground.types import Turn


@dataclass(frozen=True)
class Gold:
    """A gold passage: its text where the data have it, and by what it is known in a corpus.

    `name` is an id or a title, as a user writes it. `page`: every passage of the page `title` is
    this gold passage, which is so where passages are whole (HotpotQA's abstracts).
    """

    text: str | None = None
    id: str | None = None
    title: str | None = None
    name: str | None = None
    page: bool = False

    def __str__(self) -> str:
        return repr(self.name or self.id or self.title or (self.text or "")[:60])


@dataclass(frozen=True)
class Item:
    """One question; `place` is where it stands, `gold` is empty where none is known.

    `answerable` is what the user's own row says of it.
    """

    place: str
    id: str
    question: str
    references: tuple[str, ...]
    history: tuple[Turn, ...] = ()
    gold: tuple[Gold, ...] = ()
    group: str | None = None
    answerable: bool | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
