"""How our graphs look as RDF: addresses of entities and properties, dates, values of literals.

Wikidata's addresses are used as they are; what has no address gets one under `urn:trueground:`. In
RDF years count as XML Schema 1.1 counts them, where the year 0 is 1 BCE; people have no year 0.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

from trueground.wings.graphs.base import PropertyValue

ENTITY = "http://www.wikidata.org/entity/"
DIRECT = "http://www.wikidata.org/prop/direct/"  # truthy statements
INSTANCE_OF = DIRECT + "P31"
WIKIBASE = "http://wikiba.se/ontology#"
DIRECT_CLAIM = WIKIBASE + "directClaim"  # property entity → its DIRECT address
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
LABELS = (  # predicates that name an entity, the best first
    "http://www.w3.org/2000/01/rdf-schema#label",
    "http://www.w3.org/2004/02/skos/core#prefLabel",
    "http://schema.org/name",
    "http://xmlns.com/foaf/0.1/name",
)
ALIAS = "http://www.w3.org/2004/02/skos/core#altLabel"
XSD = "http://www.w3.org/2001/XMLSchema#"
TYPES = (  # what says of which class a thing is; in graphs of records P31 and three names do
    INSTANCE_OF,
    RDF_TYPE,
    "urn:trueground:property:instance%20of",
    "urn:trueground:property:instance_of",
    "urn:trueground:property:type",
)
# What names an entity, describes it or says the same otherwise, and is no knowledge about it. An
# address that ends in / or # stands for all that begin with it.
NOT_SHOWN = (
    *LABELS,
    ALIAS,
    "http://schema.org/description",
    "http://www.w3.org/2000/01/rdf-schema#comment",
    "http://www.w3.org/2002/07/owl#sameAs",
    WIKIBASE,
    "http://www.wikidata.org/prop/direct-normalized/",
)
PROPERTY_TYPES = (  # classes of properties, which have names and are no entities
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#Property",
    "http://www.w3.org/2002/07/owl#ObjectProperty",
    "http://www.w3.org/2002/07/owl#DatatypeProperty",
    f"{WIKIBASE}Property",
)
ABOUT = "http://schema.org/about"  # page → its entity, whose name it has
UNKNOWN = "/.well-known/genid/"  # how Wikidata says that there is a value and nobody knows it
# Wikidata's types of properties whose values serve computers: ids, addresses, files, formulas.
FOR_COMPUTERS = (
    *("ExternalId", "Url", "CommonsMedia", "GeoShape", "TabularData", "Math", "MusicalNotation"),
    *("WikibaseLexeme", "WikibaseForm", "WikibaseSense", "EntitySchema"),
)
# What a query need not declare.
PREFIXES = {
    "wd": ENTITY,
    "wdt": DIRECT,
    "wikibase": WIKIBASE,
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "schema": "http://schema.org/",
    "xsd": XSD,
}
# A quantity: amount, a space, the name of the unit ("1.85 metre").
QUANTITY = "urn:trueground:quantity"
OWN_ENTITY, OWN_PROPERTY = "urn:trueground:entity:", "urn:trueground:property:"
# How far a time is known, as Wikidata writes it; below a millennium nothing is told.
MILLENNIUM, CENTURY, DECADE, YEAR, MONTH, DAY = range(6, 12)
_QID = re.compile(r"[A-Z]\d+")
_ADDRESS = re.compile(r'[A-Za-z][A-Za-z0-9+.-]*:[^\s<>"{}|\\^`]+')
_DATES = {XSD + name for name in ("date", "dateTime", "gYear", "gYearMonth")}
_NUMBERS = {
    XSD + name
    for name in (
        *("decimal", "double", "float", "integer", "long", "int", "short", "byte"),
        *("unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte", "nonNegativeInteger"),
        *("positiveInteger", "nonPositiveInteger", "negativeInteger"),
    )
}
_TEXTS = {XSD + "string", "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"}
_YEAR = re.compile(r"([+-]?)(\d{1,1000})((?!\d).*)", re.DOTALL)
_DATE = re.compile(r"([+-]?)(\d{4,})(?:-(\d\d)(?:-(\d\d)(?:T.*)?)?)?(?:Z|[+-]\d\d:\d\d)?")


def entity_iri(qid: str) -> str:
    """The address of an entity: Wikidata's for `Q42`, an address as it is, else one of ours."""
    if _QID.fullmatch(qid):
        return ENTITY + qid
    return qid if _ADDRESS.fullmatch(qid) else OWN_ENTITY + quote(qid, safe="")


def qid_of(iri: str) -> str:
    """The id of an entity: the other way round."""
    if iri.startswith(OWN_ENTITY):
        return unquote(iri[len(OWN_ENTITY) :])
    qid = iri.removeprefix(ENTITY)
    return qid if _QID.fullmatch(qid) else iri


def property_iri(name: str) -> str:
    """The address of a property: Wikidata's for `P31`, an address as it is, else one of ours."""
    if _QID.fullmatch(name):
        return DIRECT + name
    return name if _ADDRESS.fullmatch(name) else OWN_PROPERTY + quote(name, safe="")


def property_name(iri: str) -> str:
    """What a property is called where the graph has no label for it."""
    if iri.startswith(OWN_PROPERTY):
        return unquote(iri[len(OWN_PROPERTY) :])
    return re.split(r"[/#:]", iri.rstrip("/#"))[-1] or iri


def names_no_entity(iri: str) -> bool:
    """Whether the address is one of a property, whatever a graph says of it."""
    return iri.startswith((OWN_PROPERTY, DIRECT))


def to_historical(text: str) -> str:
    """A date of RDF with its year as historians count: `-0043-03-15` → `-0044-03-15`.

    What begins with no year stays as it is.
    """
    match = _YEAR.fullmatch(text)
    if match is None:
        return text
    sign, digits, rest = match.groups()
    year = -int(digits) if sign == "-" else int(digits)
    return f"-{1 - year:04d}{rest}" if year <= 0 else f"{digits}{rest}"


def from_historical(text: str) -> str | None:
    """The other way round: `-0044-03-15` → `-0043-03-15`. None for the year 0: there was none."""
    match = _YEAR.fullmatch(text)
    if match is None:
        return text
    sign, digits, rest = match.groups()
    year = int(digits)
    if not year:
        return None
    if sign != "-":
        return f"{digits}{rest}"
    return f"-{year - 1:04d}{rest}" if year > 1 else f"0000{rest}"


def format_period(year: int, precision: int, *, before: bool = False) -> str:
    """The decade, century or millennium of a year: "1870s", "19th century", "1st century BCE"."""
    if precision == DECADE:
        period = f"{year // 10 * 10}s"
    else:
        years, name = (100, "century") if precision == CENTURY else (1000, "millennium")
        number = -(-year // years)
        teens = number % 100 in (11, 12, 13)
        ending = "th" if teens else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
        period = f"{number}{ending} {name}"
    return f"{period} BCE" if before else period


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
    match = _DATE.fullmatch(to_historical(text) if text.startswith(("-", "0000")) else text)
    if match is None:
        return text
    sign, year, month, day = match.groups()
    known = "-" + year if sign == "-" else year
    if month and month != "00":
        known += "-" + month
        if day and day != "00":
            known += "-" + day
    return known


def language_rank(tag: str | None, lang: str) -> int | None:
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
