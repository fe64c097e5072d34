"""What linking gives: names in a question, and the entities that they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import msgspec

from trueground.graph.base import Entity, NamedEntity
from trueground.types import Graph


class Mention(msgspec.Struct, frozen=True):
    """A name in a question: what stands there, from `start` to `end` of the question in NFC.

    `names` are what to look for in the graph; `known` are its entities where the recognizer has
    them already. `types` are names or ids of classes, and empty where it says nothing of them.
    """

    text: str
    start: int
    end: int
    names: tuple[str, ...]
    types: tuple[str, ...] = ()
    known: tuple[NamedEntity, ...] | None = None


class FoundEntity(msgspec.Struct, frozen=True):
    """A name in a question and its entity.

    `matched` are the values of the entity that stand in the question besides the name; `candidates`
    is the number of entities with that name that it was chosen from.
    """

    name: str
    start: int
    end: int
    entity: Entity
    matched: tuple[str, ...] = ()
    candidates: int = 1

    @property
    def qid(self) -> str:
        """The entity's id."""
        return self.entity.qid


class LinkedQuestion(msgspec.Struct, frozen=True):
    """A question in NFC and its entities, in the order of their names in it.

    `unlinked` are names in it for which the graph has no entity, or none of the right type.
    """

    question: str
    found: tuple[FoundEntity, ...] = ()
    unlinked: tuple[str, ...] = ()

    @property
    def qids(self) -> tuple[str, ...]:
        """The ids of its entities."""
        return tuple(one.qid for one in self.found)

    def graphs(self) -> list[Graph]:
        """The one-hop subgraphs, as records and prompts hold them."""
        return [one.entity.graph() for one in self.found]


@runtime_checkable
class Recognizer(Protocol):
    """Finds names in questions. `name` is how a user writes it."""

    @property
    def name(self) -> str:
        """As a user writes it."""
        ...

    def mentions(self, questions: Sequence[str]) -> list[list[Mention]]:
        """For each question (in NFC) its names, in order, none inside another."""
        ...
