"""What a user writes of a retriever that is put together from others."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trueground.errors import UsageError
from trueground.plugins import Given

_PLUS = re.compile(r"\s\+\s")
# A name, with or without options, and a + right behind it: no retriever is so called.
_TIGHT = re.compile(r"[A-Za-z_][\w-]*\s*(?:\([^()]*\))?\s*\+")
_NEEDS_QUOTES = re.compile(r"[\s,()\"'+]")


def parts_of(given: Given, example: str) -> list[str]:
    """What it is put together from: its model, split at each ` + ` outside quotes and parentheses.

    UsageError where nothing is named.
    """
    if given.model is None:
        raise UsageError(
            f"the retriever {given.name} is put together from others, and none is named; write "
            f'{given.name}:"{example}"'
        )
    inside = set(_inside(given.model))
    parts, start = [], 0
    for match in _PLUS.finditer(given.model):
        if match.start() not in inside:
            parts.append(given.model[start : match.start()].strip())
            start = match.end()
    parts.append(given.model[start:].strip())
    if not all(parts):
        raise UsageError(
            f"the retriever {given.name}: found nothing on one side of a + in {given.model!r}; "
            f'write {given.name}:"{example}"'
        )
    if tight := [part for part in parts if _TIGHT.match(part)]:
        raise UsageError(
            f"the retriever {given.name}: found {tight[0]!r}; expected a blank on each side of the "
            f'+ between two retrievers; write {given.name}:"{example}"'
        )
    return parts


def as_written(given: Given) -> str:
    """A part as it can be read again."""
    model = "" if given.model is None else f":{_quoted(given.model)}"
    options = ",".join(f"{name}={_quoted(value)}" for name, value in given.options.items())
    return given.name + model + (f"({options})" if options else "")


def _inside(text: str) -> Iterator[int]:
    """The places of a text that stand in quotes or parentheses."""
    quote, depth = "", 0
    for place, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        else:
            depth += (char == "(") - (char == ")")
        if quote or depth > 0:
            yield place


def _quoted(value: str) -> str:
    if not _NEEDS_QUOTES.search(value):
        return value
    mark = "'" if '"' in value else '"'
    return f"{mark}{value}{mark}"
