"""Formats in which corpora are published, each read row by row."""
