"""An embedded knowledge graph: a pyoxigraph store in memory or in a folder on disk."""
