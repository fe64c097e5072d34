"""Passages: read from files and documents, kept in memory or on disk."""
