"""A row of a table → its triples."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trueground.errors import GraphError
from trueground.graph.loading import terms
from trueground.graph.rdf import ALIAS, LABELS, OWN_PROPERTY

if TYPE_CHECKING:
    from pyoxigraph import Literal, NamedNode, Quad

ROW_TYPES = ("entity", "text", "date", "quantity")
_ENTITY = re.compile(r"Q[1-9]\d*|https?://[^\s<>\"{}|\\^`]+")
_FULL_DATE = re.compile(r"-?\d{4,}-\d\d-\d\d")
_NAMES = {"label": terms.LABEL, "name": terms.LABEL, "alias": ALIAS}


@dataclass(frozen=True)
class ColumnPlaces:
    """Where the columns stand, and how many there are."""

    places: Mapping[str, int]
    width: int


@dataclass
class RowQuads:
    """Makes the triples of rows; every label that says something new is written once."""

    table: ColumnPlaces
    _entities: set[int] = field(default_factory=set)
    _labels: set[int] = field(default_factory=set)

    @property
    def entities(self) -> int:
        """How many subjects there were."""
        return len(self._entities)

    def quads(self, place: str, row: list[str]) -> Iterator[Quad]:
        """The triples of a row. GraphError."""
        from pyoxigraph import Quad

        if len(row) != self.table.width:
            raise GraphError(
                f"{place}: found {len(row)} columns; expected {self.table.width}, as in the "
                "header. Values with commas stand in quotation marks; fix the row."
            )
        cells = {name: row[at].strip() for name, at in self.table.places.items()}
        if odd := next((name for name, cell in cells.items() if "\0" in cell), None):
            raise _bad(place, odd, "a NUL character", "text without one")
        for name in ("subject", "predicate"):
            if not cells[name]:
                raise _bad(place, name, "nothing", "an id, a name or an address")
        subject = _made(place, "subject", terms.entity, cells["subject"])
        self._entities.add(hash(cells["subject"]))
        yield from self._named(subject, cells.get("subject_label", ""))
        if not cells["object"]:
            return
        value = _value(place, cells)
        names = _NAMES.get(cells["predicate"])
        if names or cells["predicate"] in (*LABELS, ALIAS):
            yield Quad(subject, terms.node(names or cells["predicate"]), value)
            return
        predicate = _made(place, "predicate", terms.property_node, cells["predicate"])
        yield from self._called(cells["predicate"], cells.get("predicate_label", ""))
        yield Quad(subject, predicate, value)
        if value_label := cells.get("object_label", ""):
            yield from self._named(value, value_label)

    def _named(self, what: NamedNode | Literal, label: str) -> Iterator[Quad]:
        from pyoxigraph import NamedNode, Quad

        if label and isinstance(what, NamedNode) and self._is_new(what.value, label):
            yield Quad(what, terms.node(terms.LABEL), terms.text(label))

    def _called(self, name: str, label: str) -> Iterator[Quad]:
        """The label of a property; a property that is written as a name has that for its label."""
        if not self._is_new(name, label):
            return
        if label or terms.property_node(name).value.startswith(OWN_PROPERTY):
            yield from terms.property_quads(name, label or name)

    def _is_new(self, *what: str) -> bool:
        mark = hash(what)
        if mark in self._labels:
            return False
        self._labels.add(mark)
        return True


def _value(place: str, cells: Mapping[str, str]) -> NamedNode | Literal:
    text, kind, unit = cells["object"], cells.get("type", "").lower(), cells.get("unit", "")
    if kind and kind not in ROW_TYPES:
        raise _bad(place, "type", repr(kind), f"one of {', '.join(ROW_TYPES)}, or nothing")
    if kind == "entity" or (not kind and _ENTITY.fullmatch(text)):
        return _made(place, "object", terms.entity, text)
    if unit or kind == "quantity":
        return terms.quantity(text, unit)
    if kind == "date" or (not kind and _FULL_DATE.fullmatch(text)):
        found = terms.date(text)
        if found is None:
            raise _bad(place, "object", repr(text), "a date: 1871-11-01, 1871-11 or 1871")
        return found
    lang = cells.get("lang", "")
    try:
        return terms.text(text, lang)
    except ValueError:
        raise _bad(place, "lang", repr(lang), "a language tag such as en, or nothing") from None


def _made(place: str, column: str, make: Callable[[str], NamedNode], name: str) -> NamedNode:
    try:
        return make(name)
    except ValueError:
        raise _bad(place, column, repr(name), "an id, a name or a valid address") from None


def _bad(place: str, column: str, found: str, expected: str) -> GraphError:
    return GraphError(f"{place}, column {column}: found {found}; expected {expected}. Fix it.")
