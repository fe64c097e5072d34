"""A document as steps 1 and 2 know it, whatever file it came from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec


class SourceDocument(msgspec.Struct, frozen=True, omit_defaults=True):
    """A document of the user's; `text` has its paragraphs with a blank line between.

    `popularity` is its number, where it has one; `links` the ids of the documents it links to, each
    once and never its own, in the order of the text.
    """

    id: str
    title: str
    text: str
    popularity: float | None = None
    links: tuple[str, ...] = ()


@dataclass
class Raw:
    """A document as it was read, before others are known: nothing of it is checked yet.

    `names` are all names by which others may link to it, `targets` what it links to: ids, titles,
    or paths relative to itself. `row` are the fields that may hold a number. `place` is for people.
    """

    place: str
    id: str
    title: str
    text: str
    names: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    row: dict[str, Any] = field(default_factory=dict)
