"""RDF literals → values that people read."""

from __future__ import annotations

import re

from trueground.graph.base import PropertyValue
from trueground.graph.dates import historical
from trueground.graph.rdf import QUANTITY, XSD

_DATES = {XSD + name for name in ("date", "dateTime", "gYear", "gYearMonth")}
_INTEGERS = "integer long int short byte unsignedLong unsignedInt unsignedShort unsignedByte"
_SIGNED = "nonNegativeInteger positiveInteger nonPositiveInteger negativeInteger"
_NUMBERS = {XSD + name for name in f"decimal double float {_INTEGERS} {_SIGNED}".split()}
_TEXTS = {
    XSD + "string",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString",
}
_DATE = re.compile(r"([+-]?)(\d{4,})(?:-(\d\d)(?:-(\d\d)(?:T.*)?)?)?(?:Z|[+-]\d\d:\d\d)?")


def literal_value(text: str, datatype: str) -> PropertyValue:
    """The value of a literal: its text, and the address of its type.

    Dates end where what is known ends, and never tell a time of day; years before our era are
    counted as historians do, so "-0043" of XML Schema 1.1 is "-0044". A quantity is its amount, and
    behind a space the name of its unit.
    """
    if datatype in _TEXTS:
        return PropertyValue(text)
    if datatype in _DATES:
        return PropertyValue(_date(text), "date")
    if datatype == QUANTITY:
        _, _, unit = text.partition(" ")
        return PropertyValue(text.removeprefix("+"), "quantity", unit=unit or None)
    if datatype in _NUMBERS:
        return PropertyValue(text.removeprefix("+"), "quantity")
    return PropertyValue(text, "other")


def _date(text: str) -> str:
    told = historical(text) if text.startswith(("-", "0000")) else text
    match = _DATE.fullmatch(told)
    if match is None:
        return text
    sign, year, month, day = match.groups()
    known = "-" + year if sign == "-" else year
    if month and month != "00":
        known += "-" + month
        if day and day != "00":
            known += "-" + day
    return known


def fits(tag: str | None, lang: str) -> int | None:
    """How well a text of this language serves readers of `lang`, 0 the best; None if not at all.

    Both in lower case. A form of the language serves, as SPARQL's LANGMATCHES has it: "en-gb" for
    "en". A text without a language serves all, as does one that is marked as no language's ("mul").
    """
    if tag is None:
        return 1
    if tag == lang:
        return 0
    if tag == "mul":
        return 2
    return 3 if tag.startswith(lang + "-") else None
