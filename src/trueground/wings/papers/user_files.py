"""Files that the benchmarks and builders of papers read: users' questions, objects of entries."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trueground.errors import InputError
from trueground.records import DataPath, Problem, to_record
from trueground.types import Record

# What is said of an answer that another model gave.
_OF_ANSWERS = ("response", "response_facts", "model", "human", "failure")


def read_question(place: str, row: Mapping[str, Any], number: int, *without: str) -> Record:
    """Return a user's own question as a record without a response.

    Args:
        place: Where the row is.
        row: The fields of the row.
        number: The id of a row that has none.
        without: Fields to skip.

    Raises:
        InputError: A field is wrong.
    """
    skipped = (*_OF_ANSWERS, *without)
    fields = {name: value for name, value in row.items() if name not in skipped}
    try:
        return to_record({**fields, "response": ""}, None, number)
    except Problem as problem:
        raise InputError(problem.message(place)) from None


def read_entries(
    path: Path, expected: str = "a JSON object with an entry a question"
) -> dict[str, Any]:
    """Return the members of the one JSON object that a file holds, in their order.

    Args:
        path: The file.
        expected: What the file should hold, for the error message.

    Raises:
        InputError: The file is unreadable, has no object or an empty one, or an entry twice.
    """
    found: dict[str, Any] = {}
    DataPath(path).require_readable()
    with DataPath(path).open() as stream:
        if stream.peek(1 << 12).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] != b"{":
            raise InputError(f"{path}: found no JSON object; expected {expected}")
        for key, value in stream.members():
            if key in found:
                raise InputError(f"{path}: found the entry {key!r} twice; expected it once")
            found[key] = value
    if not found:
        raise InputError(f"{path}: found an empty object; expected {expected}")
    return found
