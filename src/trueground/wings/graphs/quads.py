"""Entities, properties and values as RDF quads."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from trueground.wings.graphs.rdf import (
    DIRECT,
    LABELS,
    OWN_PROPERTY,
    PROPERTY_TYPES,
    QUANTITY,
    RDF_TYPE,
    XSD,
    from_historical,
    property_iri,
)

if TYPE_CHECKING:
    from pyoxigraph import Literal, NamedNode, Quad

LABEL = LABELS[0]
_DATE_FORMS = (
    (re.compile(r"-?\d{4,}-\d\d-\d\d"), "date"),
    (re.compile(r"-?\d{4,}-\d\d"), "gYearMonth"),
    (re.compile(r"-?\d{4,}"), "gYear"),
)
# As the store writes numbers: others would come back changed ("1.50" as "1.5").
_INTEGER = re.compile(r"0|-?[1-9]\d{0,17}")
_DECIMAL = re.compile(r"-?(?:0|[1-9]\d{0,8})\.\d{0,8}[1-9]")


@lru_cache(4096)
def node(iri: str) -> NamedNode:
    """The node of an address. ValueError: no IRI."""
    from pyoxigraph import NamedNode

    return NamedNode(iri)


def property_quads(name: str, label: str) -> list[Quad]:
    """What a property is called, and that it is one, where its address does not show that."""
    found = node(property_iri(name))
    quads = [quad(found, LABEL, text(label))]
    if not found.value.startswith((DIRECT, OWN_PROPERTY)):
        quads.append(quad(found, RDF_TYPE, node(PROPERTY_TYPES[0])))
    return quads


def quad(subject: NamedNode, predicate: str, value: NamedNode | Literal) -> Quad:
    """A triple in the default graph; the predicate is an address."""
    from pyoxigraph import Quad

    return Quad(subject, node(predicate), value)


def text(value: str, lang: str | None = None) -> Literal:
    """A text. ValueError: `lang` is no language tag."""
    from pyoxigraph import Literal

    return Literal(value, language=lang) if lang else Literal(value)


def typed(value: str, datatype: str) -> Literal:
    """A literal of the datatype with this address."""
    from pyoxigraph import Literal

    return Literal(value, datatype=node(datatype))


def date(value: str) -> Literal | None:
    """A date to the day, month or year: `1871-11-01`, `1871-11`, `1871`; None for other texts.

    Years before our era are counted as historians do: 44 BCE is `-0044`, and in RDF `-0043`.
    """
    for pattern, name in _DATE_FORMS:
        if pattern.fullmatch(value):
            counted = from_historical(value)
            return None if counted is None else typed(counted, XSD + name)
    return None


def quantity(amount: str, unit: str | None = None) -> Literal:
    """An amount as it is written, with the name of its unit."""
    if unit:
        return typed(f"{amount} {unit}", QUANTITY)
    if _INTEGER.fullmatch(amount):
        return typed(amount, XSD + "integer")
    return typed(amount, XSD + "decimal" if _DECIMAL.fullmatch(amount) else QUANTITY)


def of_json(value: str | float, *, is_date: bool) -> Literal:
    """A text, number or truth value of JSON, a text as a date if it may be one."""
    if isinstance(value, bool):
        return typed("true" if value else "false", XSD + "boolean")
    if isinstance(value, int | float):
        return quantity(str(value))
    return (date(value) if is_date else None) or text(value)
