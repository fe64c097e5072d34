"""Texts that only Python reads: a dict, `None`, `nan` or an object in place of words or a number.

Every page that a test writes or gets from a server, and everything that a command prints in this
process, is searched. Texts of records are not: pages keep them in blocks of data apart from the
page's own, and in what commands print only whole words count, so "None of these" is no leak.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from trueground.reports.page import Page

_OBJECT = r"\{'|<class '|<function |\bobject at 0x"
_LEAK = re.compile(_OBJECT + r"|\bNone\b(?! of\b)|\bnan\b")
# An error may quote a value that the user gave: `found NaN`, `=nan`.
_LEAK_IN_ERROR = re.compile(_OBJECT)
_CONTEXT = 60  # characters around a leak that are reported

# Leaks that were found since the last test; the fixture in conftest.py asserts that there are none.
leaks: list[str] = []


def find_leaks(text: str, pattern: re.Pattern[str] = _LEAK) -> list[str]:
    """Return each leak in the text with the words around it."""
    return [
        text[max(0, match.start() - _CONTEXT) : match.end() + _CONTEXT]
        for match in pattern.finditer(text)
    ]


def check_page(page: Page | dict[str, Any]) -> None:
    """Note the leaks in the texts of a page: titles, labels, cells, numbers, sentences."""
    for text in _texts_in(msgspec.to_builtins(page)):
        leaks.extend(f"page: {leak}" for leak in find_leaks(text))


def check_screen(command: str, stdout: str, stderr: str) -> None:
    """Note the leaks in what a command printed."""
    leaks.extend(f"{command}: {leak}" for leak in find_leaks(stdout))
    leaks.extend(f"{command}: {leak}" for leak in find_leaks(stderr, _LEAK_IN_ERROR))


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for child in value.values():
            yield from _texts_in(child)
    elif isinstance(value, list | tuple):
        for child in value:
            yield from _texts_in(child)
