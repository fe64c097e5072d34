"""What an endpoint is asked: plain SPARQL 1.1, ordered so that it can be read in pages.

No part of a vendor is used (Wikidata's label service, say), so that mirrors and other engines
answer alike. All data in a query is escaped by `sparql`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from trueground.wings.graphs.rdf import (
    ABOUT,
    ALIAS,
    DIRECT_CLAIM,
    ENTITY,
    FOR_COMPUTERS,
    INSTANCE_OF,
    LABELS,
    NOT_SHOWN,
    PROPERTY_TYPES,
    TYPES,
    WIKIBASE,
)
from trueground.wings.graphs.sparql import iri, literal, values

NO_LANGUAGE = "mul"  # Wikidata's mark for names that are the same in all languages
LAST_RESORT = "en"
# Forms of a language as Wikidata has them; asking for those in use would take it a minute.
_FORMS = (
    *("crh-cyrl", "crh-latn", "de-at", "de-ch", "de-formal", "en-ca", "en-gb", "en-us"),
    *("es-419", "es-formal", "hu-formal", "kk-arab", "kk-cn", "kk-cyrl", "kk-kz", "kk-latn"),
    *("kk-tr", "ku-arab", "ku-latn", "nl-informal", "pt-br", "sr-ec", "sr-el", "sr-cyrl"),
    *("sr-latn", "tg-cyrl", "tg-latn", "tt-cyrl", "tt-latn", "ug-arab", "ug-latn", "uz-cyrl"),
    *("uz-latn", "zh-cn", "zh-hans", "zh-hant", "zh-hk", "zh-mo", "zh-my", "zh-sg", "zh-tw"),
)
_LOOKED_THROUGH = 1_000_000  # names, for the forms of a language that other graphs have


class SparqlQuery(NamedTuple):
    """A query without its page, and the variables that each of its rows must have."""

    text: str
    gives: tuple[str, ...]

    def page(self, size: int, number: int) -> str:
        """The query for the rows of one page, counted from 0."""
        return f"{self.text} LIMIT {size}" + (f" OFFSET {size * number}" if number else "")


def wikidata_forms(lang: str) -> list[str]:
    """The forms of a language that Wikidata has: "en-ca", "en-gb", "en-us" of "en"."""
    return [tag for tag in _FORMS if tag.startswith(f"{lang.lower()}-")]


def forms(lang: str) -> SparqlQuery:
    """The forms of a language that names are in; of a very large graph those of a part of them."""
    every = f"SELECT ?text WHERE {{ ?entity {'|'.join(_all((*LABELS, ALIAS)))} ?text }}"
    where = (
        f"{{ {every} LIMIT {_LOOKED_THROUGH} }} FILTER(LANGMATCHES(LANG(?text), {literal(lang)}))"
    )
    return SparqlQuery(
        f"SELECT DISTINCT (LANG(?text) AS ?tag) WHERE {{ {where} }} ORDER BY ?tag", ("tag",)
    )


def named(texts: Sequence[str], tags: Iterable[str], *, wikidata: bool) -> SparqlQuery:
    """What has one of the texts as label or alias, spelled just so, in one of these languages."""
    of_any = (NO_LANGUAGE,) if wikidata else (NO_LANGUAGE, None)
    spelled = [literal(text, tag) for text in texts for tag in (*tags, *of_any)]
    path = "|".join(_all((LABELS[0], ALIAS) if wikidata else (*LABELS, ALIAS)))
    others = "" if wikidata else _NO_ENTITIES
    where = f"{values('text', spelled)} ?entity {path} ?text . {others}"
    return _select("text entity", where, "?entity STR(?text) LANG(?text)")


def classes(entities: Iterable[str], *, wikidata: bool) -> SparqlQuery:
    """What each of the entities is an instance of."""
    predicates = (INSTANCE_OF,) if wikidata else TYPES
    where = (
        f"{values('entity', _all(entities))} {values('direct', _all(predicates))} "
        "?entity ?direct ?value . FILTER(!ISBLANK(?value))"
    )
    return _select("entity direct value", where, "?entity ?direct STR(?value) LANG(?value)")


def statements(entities: Iterable[str], *, wikidata: bool) -> SparqlQuery:
    """What is said of each entity; of Wikidata with the property's entity and type."""
    where = f"{values('entity', _all(entities))} ?entity ?direct ?value . "
    order = "?entity ?direct STR(?value) LANG(?value) STR(DATATYPE(?value))"
    if wikidata:
        left_out = ", ".join(_all(WIKIBASE + one for one in FOR_COMPUTERS))
        where += (
            f"?property {iri(DIRECT_CLAIM)} ?direct ; {iri(WIKIBASE + 'propertyType')} ?type . "
            f"FILTER(?type NOT IN ({left_out})) FILTER(!ISBLANK(?value))"
        )
        return _select("entity direct value property type", where, order)
    hidden = ", ".join(_all(one for one in NOT_SHOWN if not one.endswith(("/", "#"))))
    where += f"FILTER(?direct NOT IN ({hidden})) FILTER(!ISBLANK(?value))"
    return _select("entity direct value", where, order)


def details(entities: Iterable[str], properties: Iterable[str]) -> SparqlQuery:
    """Truthy statements in full: ?precision of a time, or ?unit of a quantity."""
    ontology = f"<{WIKIBASE}"
    where = (
        f"{values('entity', _all(entities))} {values('property', _all(properties))} "
        f"?property {ontology}claim> ?claim ; {ontology}statementValue> ?full . "
        f"?entity ?claim ?statement . ?statement a {ontology}BestRank> ; ?full ?node . "
        f"{{ ?node {ontology}timeValue> ?value ; {ontology}timePrecision> ?precision . }} UNION "
        f"{{ ?node {ontology}quantityAmount> ?value ; {ontology}quantityUnit> ?unit . }}"
    )
    order = "?entity ?property STR(?value) ?precision ?unit"
    return _select("entity property value", where, order, also="precision unit")


def texts(things: Iterable[str], lang: str, *, aliases: bool, wikidata: bool) -> SparqlQuery:
    """Labels, and aliases too, that serve readers of the language.

    Of Wikidata English ones too, for what is called nothing else.
    """
    predicates = (LABELS[0],) if wikidata else LABELS
    said = (*predicates, ALIAS) if aliases else predicates
    tags = ", ".join(map(literal, ("", NO_LANGUAGE, *((LAST_RESORT,) if wikidata else ()))))
    where = (
        f"{values('thing', _all(things))} {values('says', _all(said))} ?thing ?says ?text . "
        f"FILTER(LANG(?text) IN ({tags}) || LANGMATCHES(LANG(?text), {literal(lang)}))"
    )
    return _select("thing says text", where, "?thing ?says STR(?text) LANG(?text)")


def property_entities(predicates: Iterable[str]) -> SparqlQuery:
    """The entity of Wikibase that describes a predicate."""
    where = f"{values('direct', _all(predicates))} ?property {iri(DIRECT_CLAIM)} ?direct ."
    return _select("direct property", where, "?direct ?property")


def existing(things: Iterable[str]) -> SparqlQuery:
    """Those of which anything is said."""
    where = f"{values('thing', _all(things))} FILTER EXISTS {{ ?thing ?says ?what }}"
    return _select("thing", where, "?thing")


def _select(gives: str, where: str, order: str, also: str = "") -> SparqlQuery:
    needed = tuple(gives.split())
    selected = " ".join(f"?{name}" for name in (*needed, *also.split()))
    return SparqlQuery(f"SELECT DISTINCT {selected} WHERE {{ {where} }} ORDER BY {order}", needed)


def _all(addresses: Iterable[str]) -> list[str]:
    return [iri(one) for one in addresses]


# Whether properties are described as Wikidata's are, types and full statements included.
IS_WIKIBASE = (
    f"ASK {{ {iri(ENTITY + 'P31')} {iri(DIRECT_CLAIM)} {iri(INSTANCE_OF)} ; "
    f"{iri(WIKIBASE + 'propertyType')} ?type ; {iri(WIKIBASE + 'claim')} ?claim }}"
)
# Properties, and pages about an entity of Wikidata, have names too.
_NO_ENTITIES = (
    f"FILTER NOT EXISTS {{ ?entity {iri(DIRECT_CLAIM)} ?claim }} "
    f"FILTER NOT EXISTS {{ ?entity a ?sort . "
    f"FILTER(?sort IN ({', '.join(_all(PROPERTY_TYPES))})) }} "
    f"FILTER NOT EXISTS {{ ?entity {iri(ABOUT)} ?subject . "
    f"FILTER(STRSTARTS(STR(?subject), {literal(ENTITY)})) }} "
)
