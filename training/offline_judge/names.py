"""Names of known kinds in a text, found with hand-made lists."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

_TABLE = Path(__file__).with_name("lists.toml")
_PART = r"[A-Z][^\W\d_]*(?:[-'’][A-Z]?[^\W\d_]+)*"
_RUN = re.compile(rf"{_PART}(?:[ ](?:(?:of|de|van|von|del|di|da)[ ])?{_PART})*")


class Name(NamedTuple):
    """A name at `start`…`end` of its text; kind: person, place, people, team or body."""

    start: int
    end: int
    spelling: str
    kind: str


@cache
def lists() -> dict[str, dict[str, str]]:
    """The word lists of lists.toml."""
    return tomllib.loads(_TABLE.read_text("utf-8"))


@cache
def pairs(table: str) -> tuple[tuple[str, str], ...]:
    """(what stands, what may be put) of a table; "a>b" and the other tables go one way only."""
    both = table in ("opposites", "units")
    found: list[tuple[str, str]] = []
    for entry in lists()[table]["pairs"].split(";"):
        one, way, other = (part.strip() for part in re.split("([=>])", entry.strip()))
        found.append((one, other))
        if both and way == "=":
            found.append((other, one))
    return tuple(dict.fromkeys(found))


@cache
def _words(key: str) -> frozenset[str]:
    text = lists()["names"][key]
    parts = text.split("|") if "|" in text else text.split()
    return frozenset(part.strip() for part in parts)


def names(text: str, unknown: bool = False) -> Iterator[Name]:
    """Yield the names of known kinds, from left to right; with `unknown` all capitalized words that
    do not merely open a sentence, those of no known kind as "other"."""
    for match in _RUN.finditer(text):
        start, end = match.span()
        parts = match[0].split(" ")
        while parts and parts[0] in _words("openers"):
            start += len(parts.pop(0)) + 1
        if not parts:
            continue
        spelling = re.sub(r"['’]s$", "", text[start:end])
        kind = _kind(text, start, spelling)
        named = unknown and len(spelling) > 2 and spelling not in _words("titles")
        if kind or named:
            yield Name(start, start + len(spelling), spelling, kind or "other")


def _kind(text: str, start: int, spelling: str) -> str | None:
    parts = spelling.split(" ")
    for key, kind in (("teams", "team"), ("places", "place"), ("peoples", "people")):
        if spelling in _words(key):
            # "Liverpool" and "Barcelona" are both; a name that may be two things is no safe swap.
            return None if key == "teams" and spelling in _words("places") else kind
    if parts[-1] in _words("bodies") and len(parts) > 1:
        return "body"
    if parts[0] in _words("first") and len(parts) in (2, 3):
        return "person" if not set(parts[1:]) & (_words("places") | {"of"}) else None
    before = text[:start].rsplit(None, 1)[-1:]
    return "person" if before and before[0] in _words("titles") and len(parts) < 3 else None


def related(one: str, other: str) -> bool:
    """Whether two names may mean the same: they share a word."""
    return bool(set(one.lower().split()) & set(other.lower().split()))
