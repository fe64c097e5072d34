"""A text on one line."""

from __future__ import annotations


def collapse_whitespace(text: str) -> str:
    """Return the text on one line: runs of white space become single spaces."""
    return " ".join(text.split())
