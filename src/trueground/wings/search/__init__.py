"""Retrieval: corpora, indexes, retrievers; building, searching and measuring them."""
