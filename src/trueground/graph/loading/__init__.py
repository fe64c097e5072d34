"""Files → triples in a store: RDF, Wikidata's dumps, graphs of records, tables."""

from trueground.graph.loading.base import FORMATS, LoadCounts, Loading
from trueground.graph.loading.load import load_into

__all__ = ["FORMATS", "LoadCounts", "Loading", "load_into"]
