"""Files → triples in a store: RDF, Wikidata's dumps, graphs of records, tables."""

from trueground.graph.loading.base import FORMATS, Counts, Loading
from trueground.graph.loading.load import load_into

__all__ = ["FORMATS", "Counts", "Loading", "load_into"]
