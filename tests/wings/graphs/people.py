"""A few made-up people as triples."""

from __future__ import annotations

from pathlib import Path

PREFIXES = """
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix wikibase: <http://wikiba.se/ontology#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix schema: <http://schema.org/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix tg: <urn:trueground:> .
"""
PEOPLE = (
    PREFIXES
    + r"""
wd:P31 wikibase:directClaim wdt:P31 ; rdfs:label "instance of"@en, "ist ein"@de .
wd:P19 wikibase:directClaim wdt:P19 ; rdfs:label "place of birth"@en .
wd:P569 wikibase:directClaim wdt:P569 ; rdfs:label "date of birth"@en .
wd:P570 wikibase:directClaim wdt:P570 ; rdfs:label "date of death"@en .
wd:P571 wikibase:directClaim wdt:P571 ; rdfs:label "inception"@en .
wd:P2048 wikibase:directClaim wdt:P2048 ; rdfs:label "height"@en .
wd:P106 wikibase:directClaim wdt:P106 ; rdfs:label "occupation"@en .
wd:P2561 wikibase:directClaim wdt:P2561 ; rdfs:label "name"@en .
wd:Q5 rdfs:label "human"@en, "Mensch"@de .
wd:Q100 rdfs:label "Korvik"@en, "Korwik"@de ; wdt:P31 wd:Q515 .
wd:Q36180 rdfs:label "writer"@en .
wd:Q2 rdfs:label "Anna Ruck"@en, "Anna Ruck (Autorin)"@de ;
  skos:altLabel "A. Ruck"@en, "Ännchen"@de ;
  schema:description "made-up writer"@en ;
  wdt:P31 wd:Q5 ; wdt:P19 wd:Q100 ; wdt:P106 wd:Q36180, wd:Q777 ;
  wdt:P569 "1871-11-01"^^xsd:date ; wdt:P570 "1900"^^xsd:gYear ;
  wdt:P2048 "1.85 metre"^^tg:quantity ; wdt:P2561 "Ruckian"@en .
wd:Q10 rdfs:label "anna  RUCK"@en ; wdt:P31 wd:Q515 ;
  wdt:P571 "-0043-03-15T00:00:00Z"^^xsd:dateTime .
wd:Q515 rdfs:label "city"@en-gb .
wd:Q11 rdfs:label "O'Brien \"x\" \\ }"@en ; wdt:P31 wd:Q5 .
wd:Q12 rdfs:label "two\nlines > . } ?s"@en ; wdt:P31 wd:Q5 .
<https://en.example.org/Anna> schema:about wd:Q2 ; schema:name "Anna Ruck"@en .
"""
)


def people(folder: Path, name: str = "people.ttl") -> Path:
    """The triples as a file."""
    path = folder / name
    path.write_text(PEOPLE, encoding="utf-8")
    return path
