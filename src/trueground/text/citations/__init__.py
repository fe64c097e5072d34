"""Citations in answers: brackets that name triples of a knowledge graph, or numbers of passages."""
