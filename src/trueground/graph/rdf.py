"""How our graphs look as RDF: addresses of entities and properties, and literals.

Wikidata's addresses are used as they are; what has no address gets one under `urn:trueground:`.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

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
    "ExternalId",
    "Url",
    "CommonsMedia",
    "GeoShape",
    "TabularData",
    "Math",
    "MusicalNotation",
    "WikibaseLexeme",
    "WikibaseForm",
    "WikibaseSense",
    "EntitySchema",
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
_QID = re.compile(r"[A-Z]\d+")


def entity_iri(qid: str) -> str:
    """The address of an entity: Wikidata's for `Q42`, an address as it is, else one of ours."""
    if _QID.fullmatch(qid):
        return ENTITY + qid
    return qid if _is_address(qid) else OWN_ENTITY + quote(qid, safe="")


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
    return name if _is_address(name) else OWN_PROPERTY + quote(name, safe="")


def property_name(iri: str) -> str:
    """What a property is called where the graph has no label for it."""
    if iri.startswith(OWN_PROPERTY):
        return unquote(iri[len(OWN_PROPERTY) :])
    return re.split(r"[/#:]", iri.rstrip("/#"))[-1] or iri


def names_no_entity(iri: str) -> bool:
    """Whether the address is one of a property, whatever a graph says of it."""
    return iri.startswith((OWN_PROPERTY, DIRECT))


def _is_address(text: str) -> bool:
    """Whether it is an absolute IRI without characters that none may have."""
    return bool(re.fullmatch(r'[A-Za-z][A-Za-z0-9+.-]*:[^\s<>"{}|\\^`]+', text))
