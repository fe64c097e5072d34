"""Knowledge graphs behind a SPARQL endpoint: Wikidata, or any other."""
