"""Long values in few characters, different ones still different: signatures, checksums."""

from __future__ import annotations

import re
from collections.abc import Iterable

LONG = 40  # characters; what is shorter stands as it is
_CUT = re.compile(r"(?=[:,|\[])")
_CHECKSUM = re.compile(r"[0-9a-f]{32,}")
_FEW = 12


def short_names(values: Iterable[str]) -> dict[str, str]:
    """Value → a beginning of it, up to a `:`, `,`, `|` or `[`, that no other value has.

    A value of up to 40 characters stays whole; a checksum is cut within.
    """
    known = set(values)
    return {value: _short(value, known - {value}) for value in known}


def _short(value: str, others: set[str]) -> str:
    if len(value) <= LONG:
        return value
    cuts = [m.start() for m in _CUT.finditer(value) if m.start()]
    if _CHECKSUM.fullmatch(value):
        cuts = [_FEW]
    for cut in cuts:
        if not any(other.startswith(value[:cut]) for other in others):
            return value[:cut]
    return value


def short_checksums(text: str) -> str:
    """The text with the beginning of each checksum only."""
    return _CHECKSUM.sub(lambda match: f"{match[0][:_FEW]}…", text)


def few(labels: list[str], most: int = 3) -> str:
    """The labels, or the first ones and how many more."""
    if len(labels) <= most:
        return ", ".join(labels)
    return f"{', '.join(labels[: most - 1])} and {len(labels) - most + 1} more"
