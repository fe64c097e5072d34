"""Benchmarks, a paper a folder; their data: fetched, still whole, and what is in them."""
