"""Placeholders in templates of prompts: `{name}`, and `{{name}}` as text."""

from __future__ import annotations

import re

# Either the text {word}, written with two braces, or a place; all other braces are text.
PLACEHOLDER = re.compile(r"\{(\{[a-z_]+\})\}|\{([a-z_]+)\}")


def placeholders_in(text: str) -> frozenset[str]:
    """The names of all places."""
    return frozenset(place for _, place in PLACEHOLDER.findall(text) if place)
