"""Files of questions, of minimum sets and of demonstrations: their items, each with its place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trueground.errors import InputError
from trueground.records.archives import opened
from trueground.records.jsonfiles import read_array
from trueground.records.jsontext import decode
from trueground.records.parts import PACKINGS
from trueground.records.plainrows import plain_rows
from trueground.records.problems import Problem, describe

_PEEK = 1 << 12


def read_items(path: Path, expected: str) -> Iterator[tuple[str, Any]]:
    """(place such as `a.json, item 3`, item) of a JSON array, of JSON lines or of a table.

    Items of an array are whatever they are, all others objects. InputError: what cannot be read.
    """
    packing = path.suffix.lower() if path.suffix.lower() in PACKINGS else ""
    bare = path.with_suffix("") if packing else path
    if bare.suffix.lower() != ".json" or not path.is_file():
        yield from plain_rows(path)
        return
    with opened(path, packing, str(path)) as stream:
        if stream.peek(_PEEK).lstrip()[:1] != b"[":
            raise InputError(
                f"{path} is no JSON array; expected {expected}, or JSON lines in a file that ends "
                "in .jsonl"
            )
        for number, data in read_array(stream, str(path)):
            place = f"{path}, item {number}"
            yield place, _decoded(place, data, expected)


def wrong(place: str, found: Any, expected: str) -> InputError:
    """The error to raise; `found` is a value, or the words for it."""
    told = found if isinstance(found, Words) else describe(found)
    return InputError(f"{place}: found {told}; expected {expected}")


class Words(str):
    """What was found, in words."""

    __slots__ = ()


def refused(place: str, problem: Problem) -> InputError:
    """The error of a row that is no record."""
    field = f", field {problem.field!r}" if problem.field else ""
    return InputError(f"{place}{field}: found {problem.found}; expected {problem.expected}")


def _decoded(place: str, data: bytes | Problem, expected: str) -> Any:
    try:
        if isinstance(data, Problem):
            raise data
        return decode(data, expected)
    except Problem as problem:
        raise refused(place, problem) from None
