"""Templates of prompts: `{name}` is a placeholder, and `{{name}}` is the text `{name}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

# Either the text {word}, written with two braces, or a placeholder; all other braces are text.
_PLACEHOLDER = re.compile(r"\{(\{[a-z_]+\})\}|\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class Template:
    """A text with placeholders."""

    text: str

    @property
    def placeholders(self) -> frozenset[str]:
        """The names of all placeholders."""
        return frozenset(name for _, name in _PLACEHOLDER.findall(self.text) if name)

    def fill(self, values: Mapping[str, str]) -> str:
        """Return the text with a value for each placeholder, or nothing if there is no value."""
        return _PLACEHOLDER.sub(lambda match: match[1] or values.get(match[2], ""), self.text)
