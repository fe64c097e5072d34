"""Metrics of citations: of triples of a knowledge graph, and of passages."""
