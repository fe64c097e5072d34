"""Sentences, and parts of sentences, that talk to the reader instead of stating something."""

from __future__ import annotations

import re
import string
from functools import cache
from importlib.resources import files

_SOURCE = (
    r"(?:provided|given|available|retrieved|supplied|above|following)?\s*(?:context|passage|document|text"
    r"|article|source|paragraph|excerpt|information|snippet|search result|knowledge)s?"
    r"(?:\s+(?:provided|given|above|available))?"
)
_BOILERPLATE = re.compile(
    rf"(?:(?:based (?:up)?on|according to|as (?:stated|mentioned|noted|described|indicated) in"
    rf"|from|per|given|in)\s+(?:the|this|these|your)\s+{_SOURCE}\s*,\s*"
    rf"|(?:the|this)\s+{_SOURCE}\s+(?:states?|says?|mentions?|indicates?|notes?|explains?)\s+that\s+)",
    re.I,
)
_OPENER = re.compile(
    r"(?:sure|certainly|of course|absolutely|great question|good question)[,!.]\s+"
    r"|(?:\w+\s*[,!.]\s+)?(?:did|do) you know,?\s+(?:that\s+)?"
    r"(?!(?:what|who|how|why|where|when|which|if|of|about)\b|any|a\s|the\s+\w+\s*\?)",
    re.I,
)
_EDGES = string.punctuation + string.whitespace + "“”‘’…"


def skip_boilerplate(text: str, start: int, end: int) -> int:
    """Return where the statement in `text[start:end]` begins, past "Based on the context, "."""
    for pattern in (_OPENER, _BOILERPLATE):
        match = pattern.match(text, start, end)
        if match:
            start = match.end()
    return start


def is_chatter(sentence: str) -> bool:
    """Whether a sentence is a question, a greeting, an offer or another courtesy."""
    if sentence.rstrip("\"'”’)* ").endswith("?"):
        return not _OPENER.match(sentence)  # "Did you know that …?" states something
    plain = sentence.replace("’", "'").lower().strip(_EDGES)
    whole, openings = _courtesies()
    return plain in whole or plain.startswith(openings)


@cache
def _courtesies() -> tuple[frozenset[str], tuple[str, ...]]:
    lines = data_lines("not_claims.txt")
    whole = frozenset(line[:-1] for line in lines if line.endswith("!"))
    return whole, tuple(line for line in lines if not line.endswith("!"))


def data_lines(name: str) -> list[str]:
    """Return the lines of a data file of this room without comments and blank lines."""
    source = (files("trueground.claims") / "data" / name).read_text(encoding="utf-8")
    return [line for line in source.splitlines() if line.strip() and not line.startswith("#")]
