"""What a knowledge graph is: entities by name, and what it says of each.

Names are equal that differ only in case, white space, Unicode form, or how dashes and apostrophes
are written. Accents count.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import msgspec

from trueground.types import Graph

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


DASHES = "\u002d\u2010\u2011\u2012\u2013\u2014\u2212"
APOSTROPHES = "'\u2018\u2019\u02bc\uff07"
# A hyphen equals a space: "Chiang Kai shek" is "Chiang Kai-shek".
_TABLE = str.maketrans({**dict.fromkeys(DASHES, " "), **dict.fromkeys(APOSTROPHES, "'")})


class Folded(NamedTuple):
    """`text` is compared; `places[i]` is where its i-th character stands in what was folded.

    None where that is i.
    """

    text: str
    places: list[int] | None = None

    def place(self, start: int, end: int) -> tuple[int, int] | None:
        """Where text[start:end], which is not empty, stands in what was folded.

        None where it begins or ends within a letter that was folded to two ("ß").
        """
        if self.places is None:
            return start, end
        first, last = self.places[start], self.places[end - 1]
        if start and self.places[start - 1] == first:
            return None
        if end < len(self.places) and self.places[end] == last:
            return None
        return first, last + 1


def nfc(text: str) -> str:
    """NFC."""
    return unicodedata.normalize("NFC", text)


def name_key(name: str) -> str:
    """Equal for equal names; "" for one of white space and dashes only."""
    if name.isascii():
        return " ".join(name.casefold().replace("-", " ").split())
    return " ".join(nfc(name).casefold().translate(_TABLE).split())


def fold(text: str) -> Folded:
    """`text`, which is in NFC, as `name_key` folds it, with its places; its ends stay as they are.

    The text of a name is `name_key` but for a space at its ends.
    """
    low = text.casefold()
    low = low.replace("-", " ") if text.isascii() else low.translate(_TABLE)
    longer = len(low) != len(text)
    if not longer and "  " not in low and low.isprintable():  # no white space but single spaces
        return Folded(low)
    places = [i for i, c in enumerate(text) for _ in c.casefold()] if longer else range(len(low))
    kept = [i for i, c in enumerate(low) if not (c.isspace() and i and low[i - 1].isspace())]
    return Folded(
        "".join(" " if low[i].isspace() else low[i] for i in kept), [places[i] for i in kept]
    )
