"""Values of Wikidata's JSON as RDF terms.

Times: precision 11 is a day, 10 a month, 9 a year, 8 a decade, 7 a century, 6 a millennium; years
before our era are numbered as historians do (44 BCE is -0044; in RDF it becomes -0043),
and no calendar is converted.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from trueground.graph.dates import MILLENNIUM, MONTH, YEAR, span
from trueground.graph.loading import terms
from trueground.graph.rdf import ENTITY, FOR_COMPUTERS

if TYPE_CHECKING:
    from pyoxigraph import Literal, NamedNode

# Lower case: the two dumps write them otherwise.
_FOR_COMPUTERS = {one.lower() for one in FOR_COMPUTERS}
_WKT = "http://www.opengis.net/ont/geosparql#wktLiteral"
_TIME = re.compile(r"([+-])(\d+)-(\d\d)-(\d\d)T.*")
_AMOUNT = re.compile(r"[+-]?\d+(?:\.\d+)?")


class Odd(Exception):  # noqa: N818 - counted, never shown as an exception
    """A value that cannot be used; its text says why."""


def for_computers(datatype: str) -> bool:
    """Whether values of this datatype are for computers only."""
    return datatype.replace("-", "").lower() in _FOR_COMPUTERS


def item_of(kind: str, value: Any) -> str | None:
    """The id of the entity that a value is; None for other values. Odd: an entity without id."""
    if kind != "wikibase-entityid":
        return None
    if not isinstance(value, dict):
        raise Odd("an entity without an id")
    if isinstance(qid := value.get("id"), str) and re.fullmatch(r"[QP]\d{1,18}", qid):
        return qid
    if isinstance(number := value.get("numeric-id"), int) and "id" not in value:
        return f"{'P' if value.get('entity-type') == 'property' else 'Q'}{number}"
    raise Odd("an entity that is no item or property")


def unit_of(kind: str, value: Any) -> str | None:
    """The id of a quantity's unit; None where there is none."""
    if kind != "quantity" or not isinstance(value, dict):
        return None
    unit = str(value.get("unit", "1")).rpartition("/")[2]
    return unit if re.fullmatch(r"Q\d{1,18}", unit) else None


def term(kind: str, value: Any) -> NamedNode | Literal:
    """The term of a value, for a quantity without its unit. Odd: nothing that can be kept."""
    if (qid := item_of(kind, value)) is not None:
        return terms.node(ENTITY + qid)
    if kind == "string" and isinstance(value, str):
        return terms.text(value)
    if isinstance(value, dict):
        if kind == "time":
            return _time(str(value.get("time")), value.get("precision"))
        if kind == "quantity":
            return terms.quantity(amount(value))
        if kind == "monolingualtext" and isinstance(written := value.get("text"), str):
            return _in_language(written, str(value.get("language")))
        if kind == "globecoordinate" and "latitude" in value and "longitude" in value:
            return terms.typed(f"Point({value['longitude']} {value['latitude']})", _WKT)
    raise Odd(f"a value of the kind {kind!r}")


def amount(value: dict[str, Any]) -> str:
    """A quantity's amount without a plus sign. Odd: none."""
    found = str(value.get("amount"))
    if not _AMOUNT.fullmatch(found):
        raise Odd("a quantity without an amount")
    return found.removeprefix("+")


def _in_language(written: str, lang: str) -> Literal:
    try:
        return terms.text(written, lang)
    except ValueError:
        return terms.text(written)


def _time(written: str, precision: Any) -> Literal:
    match = _TIME.fullmatch(written)
    if match is None or not isinstance(precision, int):
        raise Odd("a time that is none")
    sign, digits, month, day = match.groups()
    year = int(digits)
    if year == 0 or precision < MILLENNIUM:
        raise Odd("a time vaguer than a millennium")
    if precision < YEAR:
        return terms.text(span(year, precision, before=sign == "-"))
    known = f"{'-' if sign == '-' else ''}{year:04}"
    if precision > YEAR and month != "00":
        known += f"-{month}"
        if precision > MONTH and day != "00":
            known += f"-{day}"
    return terms.date(known) or terms.text(known)
