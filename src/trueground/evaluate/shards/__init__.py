"""Scoring beyond one process: an input in shards, each scored by itself, merged into one run."""
