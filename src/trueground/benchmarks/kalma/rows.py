"""Files of questions, of minimum sets and of demonstrations: their items, each with its place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trueground.errors import InputError
from trueground.graph.items import begins_array, items
from trueground.records.files import inner_ending, open_unpacked
from trueground.records.problems import Problem, describe
from trueground.records.reading import plain_rows


def read_items(path: Path, expected: str) -> Iterator[tuple[str, Any]]:
    """(place such as `a.json, entry 3`, item) of a JSON array, of JSON lines or of a table.

    Items of an array are whatever they are, all others objects. InputError: what cannot be read.
    """
    if path.is_dir():
        raise InputError(f"{path} is a folder; name the file in it, with {expected}")
    if inner_ending(path) != ".json" or not path.is_file():
        yield from plain_rows(path)
        return
    with open_unpacked(path) as stream:
        if not begins_array(stream):
            raise InputError(
                f"{path} is no JSON array; expected {expected}, or JSON lines in a file that ends "
                "in .jsonl"
            )
        yield from items(stream, str(path), expected)


def wrong(place: str, found: Any, expected: str) -> InputError:
    """The error to raise; `found` is a value, or the words for it."""
    told = found if isinstance(found, FoundWords) else describe(found)
    return InputError(f"{place}: found {told}; expected {expected}")


class FoundWords(str):
    """What was found, in words."""

    __slots__ = ()


def refused(place: str, problem: Problem) -> InputError:
    """The error of a row that is no record."""
    field = f", field {problem.field!r}" if problem.field else ""
    return InputError(f"{place}{field}: found {problem.found}; expected {problem.expected}")
