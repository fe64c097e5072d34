"""Counts of what the style guide limits (CONTRIBUTING.md): `python -m checks`."""
