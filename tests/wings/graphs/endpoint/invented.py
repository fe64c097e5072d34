"""Invented people as Wikidata has them, for an endpoint and for an embedded graph."""

from __future__ import annotations

from pyoxigraph import RdfFormat, Store

PREFIXES = """
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix p: <http://www.wikidata.org/prop/> .
@prefix psv: <http://www.wikidata.org/prop/statement/value/> .
@prefix s: <http://www.wikidata.org/entity/statement/> .
@prefix v: <http://www.wikidata.org/value/> .
@prefix wikibase: <http://wikiba.se/ontology#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix schema: <http://schema.org/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix ex: <http://example.org/> .
"""
# Statements, names, and what is said of the properties: all that an embedded graph needs.
TRUTHY = r"""
wd:Q900001 rdfs:label "Ada Quill"@en, "Ada Feder"@de ;
  skos:altLabel "A. Quill"@en, "The Inkwell"@en ; schema:description "invented poet"@en ;
  wdt:P31 wd:Q5 ; wdt:P106 wd:Q900011, wd:Q900012 ; wdt:P19 wd:Q900021 ;
  wdt:P1559 "Ada Quill"@en ; wdt:P742 "Blot, the: \"second\"", "O'Brien \"x\" \\ }" .
wd:Q900002 rdfs:label "Bo Quill"@mul ; skos:altLabel "Ada Quill"@en ;
  wdt:P31 wd:Q5, wd:Q900031 ; wdt:P19 wd:Q900022 ; wdt:P1559 "Бо"@ru .
wd:Q10 rdfs:label "Ada Quill"@en ; wdt:P31 wd:Q900032 .
wd:Q900002 skos:altLabel "Colorful Bo"@en-gb, "Bont Bo"@nl-be, "Bo au Québec"@fr-ca .
wd:Q900003 rdfs:label "O'Brien \"x\" \\ }\n?s"@en ; wdt:P31 wd:Q5 .
wd:Q5 rdfs:label "human"@en, "Mensch"@de .
wd:Q900011 rdfs:label "poet"@en . wd:Q900012 rdfs:label "printer"@mul .
wd:Q900021 rdfs:label "Inkford"@en, "Tintenfurt"@de . wd:Q900022 rdfs:label "Blotheim"@de .
wd:Q900031 rdfs:label "band"@en . wd:Q900032 rdfs:label "lighthouse"@en .
wd:P31 rdfs:label "instance of"@en . wd:P106 rdfs:label "occupation"@en .
wd:P19 rdfs:label "place of birth"@en . wd:P1559 rdfs:label "native name"@en .
wd:P742 rdfs:label "pseudonym"@en .
wd:P31 wikibase:directClaim wdt:P31 ; wikibase:propertyType wikibase:WikibaseItem .
wd:P106 wikibase:directClaim wdt:P106 ; wikibase:propertyType wikibase:WikibaseItem .
wd:P19 wikibase:directClaim wdt:P19 ; wikibase:propertyType wikibase:WikibaseItem .
wd:P1559 wikibase:directClaim wdt:P1559 ; wikibase:propertyType wikibase:Monolingualtext .
wd:P742 wikibase:directClaim wdt:P742 ; wikibase:propertyType wikibase:String .
"""
# Times, quantities and values for computers, as the query service has them.
FULL = """
wd:P31 wikibase:claim p:P31 .
wd:P569 rdfs:label "date of birth"@en ; wikibase:directClaim wdt:P569 ;
  wikibase:propertyType wikibase:Time ; wikibase:claim p:P569 ; wikibase:statementValue psv:P569 .
wd:P2048 rdfs:label "height"@en ; wikibase:directClaim wdt:P2048 ;
  wikibase:propertyType wikibase:Quantity ; wikibase:claim p:P2048 ;
  wikibase:statementValue psv:P2048 .
wd:P214 rdfs:label "catalog id"@en ; wikibase:directClaim wdt:P214 ;
  wikibase:propertyType wikibase:ExternalId .
wd:Q11573 rdfs:label "metre"@en . wd:Q199 rdfs:label "1"@en .
wd:Q900001 wdt:P569 "1871-11-01T00:00:00Z"^^xsd:dateTime ; wdt:P214 "12345" ;
  wdt:P2048 "+1.85"^^xsd:decimal, "+3"^^xsd:decimal ;
  wdt:P106 <http://www.wikidata.org/.well-known/genid/0a1b> ;
  p:P569 s:a ; p:P2048 s:b, s:c .
s:a a wikibase:BestRank ; psv:P569 v:a .
v:a wikibase:timeValue "1871-11-01T00:00:00Z"^^xsd:dateTime ; wikibase:timePrecision 10 .
s:b a wikibase:BestRank ; psv:P2048 v:b .
v:b wikibase:quantityAmount "+1.85"^^xsd:decimal ; wikibase:quantityUnit wd:Q11573 .
s:c a wikibase:BestRank ; psv:P2048 v:c .
v:c wikibase:quantityAmount "+3"^^xsd:decimal ; wikibase:quantityUnit wd:Q199 .
wd:Q900002 wdt:P569 "-0043-03-15T00:00:00Z"^^xsd:dateTime ; p:P569 s:d .
s:d a wikibase:BestRank ; psv:P569 v:d .
v:d wikibase:timeValue "-0043-03-15T00:00:00Z"^^xsd:dateTime ; wikibase:timePrecision 11 .
wd:Q900003 wdt:P569 "1801-01-01T00:00:00Z"^^xsd:dateTime .
"""
# RDF that knows nothing of Wikidata.
PLAIN = """
ex:ada a ex:Poet ; rdfs:label "Ada Quill"@en, "Ada Feder"@de ;
  <http://xmlns.com/foaf/0.1/name> "Ada Q."@en-gb ; ex:livesIn ex:inkford, ex:nameless ;
  ex:page <https://example.org/no/entity> ; ex:born "1871-11"^^xsd:gYearMonth ;
  ex:age 42 ; ex:motto "Ink."@en, "Tinte."@de ; rdfs:comment "not shown"@en ; ex:name "odd" .
ex:Poet rdfs:label "poet"@en . ex:inkford schema:name "Inkford" . ex:nameless ex:near ex:inkford .
ex:livesIn a <http://www.w3.org/1999/02/22-rdf-syntax-ns#Property> ; rdfs:label "lives in"@en .
ex:named a <http://www.w3.org/2002/07/owl#ObjectProperty> ; rdfs:label "Ada Quill"@en .
"""


def store_of(*parts: str) -> Store:
    """A store that holds these."""
    store = Store()
    store.bulk_load(input=(PREFIXES + "".join(parts)).encode(), format=RdfFormat.TURTLE)
    return store
