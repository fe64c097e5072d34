"""What a knowledge graph is: entities by name, and what it says of each.

Names are equal that differ only in case, white space, Unicode form, or how dashes and apostrophes
are written. Accents count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import msgspec

from trueground.types import Graph
from trueground.wings.graphs.names import name_key

Kind = Literal["entity", "text", "date", "quantity", "other"]


class PropertyValue(msgspec.Struct, frozen=True, omit_defaults=True):
    """One value of a property.

    `text` is what people read and models cite: the name of an entity, a date to the day, month or
    year that is known ("1871-11-01", "1871-11", "1871"; before our era "-0044-03-15"), a quantity
    with its unit ("1.85 metre"). `id` is the qid of an entity, `unit` the name of a unit.
    """

    text: str
    kind: Kind = "text"
    id: str | None = None
    unit: str | None = None


class Entity(msgspec.Struct, frozen=True, omit_defaults=True):
    """An entity and its one-hop subgraph.

    `properties` maps the names of properties to all their values, in a fixed order; `name` is not
    among them. `types` are names and ids of its classes ("human", "Q5").
    """

    qid: str
    name: str
    properties: Mapping[str, tuple[PropertyValue, ...]] = {}
    aliases: tuple[str, ...] = ()
    types: tuple[str, ...] = ()

    def properties_to(self, other: Entity) -> Iterator[tuple[str, bool]]:
        """Yield the properties that have another entity as value.

        Each comes with whether the value is the id of the other entity, or else one of its names.
        """
        names = {name_key(name) for name in (other.name, *other.aliases)} - {""}
        for name, values in self.properties.items():
            if any(value.id == other.qid for value in values):
                yield name, True
            elif any(
                value.id is None and value.kind == "text" and name_key(value.text) in names
                for value in values
            ):
                yield name, False

    def graph(self) -> Graph:
        """As records and prompts hold it: `{"qid", "name", property: value or [values]}`."""
        texts = {name: [v.text for v in values] for name, values in self.properties.items()}
        found = {name: v[0] if len(v) == 1 else v for name, v in texts.items() if v}
        return {"qid": self.qid, "name": self.name, **found}


class NamedEntity(NamedTuple):
    """A name or alias, and an entity that has it."""

    text: str
    qid: str
    types: tuple[str, ...] = ()


Row = dict[str, str | None]


_NUMBERED = re.compile(r"([A-Za-z]+)(\d{1,18})")


def id_order(qid: str) -> tuple[str, int, str]:
    """A key to sort ids by: Q2 before Q10, all others as texts."""
    match = _NUMBERED.fullmatch(qid)
    return (match[1], int(match[2]), qid) if match else (qid, 0, qid)


@runtime_checkable
class KnowledgeGraph(Protocol):
    """A store, an endpoint or a file of graphs.

    Asked for several names or ids at once, it answers in their order. Methods raise GraphError.
    """

    @property
    def name(self) -> str:
        """Where it is, as a user would write it."""
        ...

    @property
    def signature(self) -> str:
        """What it holds: two graphs with one signature answer alike.

        That of an endpoint, marked "live", says how it is read; what it holds may change.
        """
        ...

    def find(self, names: Sequence[str]) -> list[list[NamedEntity]]:
        """For each name the entities that have it as name or alias, in order of their ids.

        Case, white space and the like do not count (`folding`); the order is that of `id_order`.
        """
        ...

    def entities(self, qids: Sequence[str]) -> list[Entity | None]:
        """For each id its one-hop subgraph; None where the graph does not have it."""
        ...

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine, so that it answers quickly and nobody else is asked."""
        ...

    def find_joined(self, heads: Sequence[str], tails: Sequence[str]) -> list[tuple[str, str]]:
        """Return the pairs of ids, one of each side, that may be joined by an edge.

        A graph that can't tell which pairs are joined returns all of them.
        """
        ...

    def close(self) -> None:
        """Give files and connections back."""
        ...


@runtime_checkable
class Listed(Protocol):
    """A graph that can tell all its names, so that they can be looked for in a text."""

    def names(self) -> Iterator[NamedEntity]:
        """Every name and alias, in a fixed order."""
        ...


@runtime_checkable
class Queried(Protocol):
    """A graph that answers SPARQL."""

    def query(self, sparql: str, bindings: Mapping[str, str] | None = None) -> Iterator[Row]:
        """Rows by variable, without the question mark; an ASK gives one row, `{"ask": "true"}`.

        `bindings` give variables a value: an address in angle brackets (`<http://…>`) is one, all
        else is a text. A value never becomes part of the query's text.
        """
        ...
