"""SPARQL as text: terms that are escaped for themselves, and values in place of variables."""
