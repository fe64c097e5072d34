"""Terms of an endpoint → values, with what Wikidata keeps beside them: precision and unit."""

from __future__ import annotations

import re
from typing import NamedTuple

from trueground.graph.base import PropertyValue
from trueground.graph.dates import DAY, MILLENNIUM, MONTH, YEAR, historical, span
from trueground.graph.endpoint.results import SparqlTerm
from trueground.graph.literals import literal_value
from trueground.graph.rdf import XSD

_DATE_TIME = XSD + "dateTime"
_STRING = XSD + "string"
_LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"


class Detail(NamedTuple):
    """What Wikidata says of a value: how far a time is known, the name of a quantity's unit."""

    precision: int | None = None
    unit: str | None = None


def value_of(term: SparqlTerm, detail: Detail, *, wikidata: bool) -> PropertyValue | None:
    """The value of a literal; None for a time that is vaguer than a millennium."""
    datatype = term.datatype or (_LANG_STRING if term.lang else _STRING)
    if wikidata and datatype == _DATE_TIME:
        return _time(term.value, detail.precision)
    value = literal_value(term.value, datatype)
    if detail.unit and value.kind == "quantity":
        return PropertyValue(f"{value.text} {detail.unit}", "quantity", unit=detail.unit)
    return value


def _time(text: str, precision: int | None) -> PropertyValue | None:
    """As far as it is known; to the day where nobody says how far."""
    match = re.match(r"(-?)(\d+)(-\d\d)?", historical(text))
    if match is None or precision is None or precision >= DAY:
        return literal_value(text, _DATE_TIME)
    sign, digits, month = match.groups("")
    if precision >= YEAR:
        return PropertyValue(f"{sign}{digits}{month if precision == MONTH else ''}", "date")
    if precision < MILLENNIUM:
        return None
    return PropertyValue(span(int(digits), precision, before=bool(sign)))
