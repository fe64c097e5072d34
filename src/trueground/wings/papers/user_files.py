"""Read user files: questions, and JSON objects with one entry per question."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trueground.errors import InputError
from trueground.records import DataPath, Problem, to_record
from trueground.types import Record

# Fields that describe the answer of another model.
_ANSWER_FIELDS = ("response", "response_facts", "model", "human", "failure")


def read_question(place: str, row: Mapping[str, Any], number: int, *without: str) -> Record:
    """Return a user's question as a record without a response.

    Args:
        place: Where the row is.
        row: The fields of the row.
        number: The id if the row has none.
        without: Fields to skip.

    Raises:
        InputError: A field is invalid.
    """
    skipped = (*_ANSWER_FIELDS, *without)
    fields = {name: value for name, value in row.items() if name not in skipped}
    try:
        return to_record({**fields, "response": ""}, None, number)
    except Problem as problem:
        raise InputError(problem.message(place)) from None


def read_entries(
    path: Path, expected: str = "a JSON object with one entry per question"
) -> dict[str, Any]:
    """Return the members of the single JSON object in a file, in order.

    Args:
        path: The file.
        expected: The expected content, for the error message.

    Raises:
        InputError: The file is unreadable, has no object or an empty one, or repeats a key.
    """
    entries: dict[str, Any] = {}
    DataPath(path).require_readable()
    with DataPath(path).open() as stream:
        if stream.peek(1 << 12).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] != b"{":
            raise InputError(f"{path}: found no JSON object; expected {expected}")
        for key, value in stream.members():
            if key in entries:
                raise InputError(f"{path}: found the entry {key!r} twice; expected it once")
            entries[key] = value
    if not entries:
        raise InputError(f"{path}: found an empty object; expected {expected}")
    return entries
