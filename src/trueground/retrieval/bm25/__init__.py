"""BM25: over texts in memory, and over an index on disk."""
