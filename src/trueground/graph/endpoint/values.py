"""Terms of an endpoint → values, with what Wikidata keeps beside them: precision and unit."""

from __future__ import annotations

import re
from typing import NamedTuple

from trueground.graph.base import Value
from trueground.graph.embedded.literals import literal_value
from trueground.graph.endpoint.results import Term
from trueground.graph.rdf import XSD

_DATE_TIME = XSD + "dateTime"
_STRING = XSD + "string"
_LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
_YEAR = re.compile(r"([+-]?)(\d+)(.*)", re.DOTALL)
_MILLENNIUM, _CENTURY, _DECADE, _YEAR_KNOWN, _MONTH_KNOWN, _DAY_KNOWN = range(6, 12)


class Detail(NamedTuple):
    """What Wikidata says of a value: how far a time is known, the name of a quantity's unit."""

    precision: int | None = None
    unit: str | None = None


def value_of(term: Term, detail: Detail, *, wikidata: bool) -> Value | None:
    """The value of a literal; None for a time that is vaguer than a millennium."""
    datatype = term.datatype or (_LANG_STRING if term.lang else _STRING)
    if wikidata and datatype == _DATE_TIME:
        return _time(_historical(term.value), detail.precision)
    value = literal_value(term.value, datatype)
    if detail.unit and value.kind == "quantity":
        return Value(f"{value.text} {detail.unit}", "quantity", unit=detail.unit)
    return value


def _historical(text: str) -> str:
    """Wikidata's RDF counts years as XSD 1.1 does, with a year 0; people do not: -0043 → -0044."""
    match = _YEAR.fullmatch(text)
    if match is None:
        return text
    sign, digits, rest = match.groups()
    year = -int(digits) if sign == "-" else int(digits)
    return f"-{1 - year:04d}{rest}" if year <= 0 else f"{digits}{rest}"


def _time(text: str, precision: int | None) -> Value | None:
    """As far as it is known; to the day where nobody says how far."""
    match = re.match(r"(-?)(\d+)(-\d\d)?", text)
    if match is None or precision is None or precision >= _DAY_KNOWN:
        return literal_value(text, _DATE_TIME)
    sign, digits, month = match.groups("")
    if precision >= _YEAR_KNOWN:
        return Value(f"{sign}{digits}{month if precision == _MONTH_KNOWN else ''}", "date")
    if precision < _MILLENNIUM:
        return None
    return Value(_span(int(digits), precision) + (" BCE" if sign else ""))


def _span(year: int, precision: int) -> str:
    if precision == _DECADE:
        return f"{year // 10 * 10}s"
    years, name = (100, "century") if precision == _CENTURY else (1000, "millennium")
    number = -(-year // years)
    teens = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')} {name}"
