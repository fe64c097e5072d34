"""Questions to be linked, from a file, with the ids of their gold entities where it has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from trueground.errors import InputError
from trueground.graph.items import PAIR, begins_array, decoded, items
from trueground.records.files import data_files, inner_ending, open_unpacked
from trueground.records.problems import describe
from trueground.records.reading import plain_rows

_FIELDS = ("gold", "knowledge", "gold_knowledge")
_EXPECTED = f"{PAIR} or an object with the field 'question'"


class LinkingQuestion(msgspec.Struct, frozen=True):
    """`gold` holds ids, and is None where the file says nothing of them."""

    text: str
    gold: tuple[str, ...] | None = None


def read_questions(path: Path) -> list[LinkingQuestion]:
    """Questions of a file, in its order.

    A .json file in the form of KaLMA, `[[question, [graph, …]], …]`, whose graphs' ids are gold
    (triples `[qid, property, value]` likewise); rows with `question` and, if they have it, `gold`
    (ids), `knowledge` or `gold_knowledge`, as JSON lines, a JSON array, CSV or Parquet; a .txt file
    with one question a line. Also packed, but for .txt. Raises InputError that names the place.
    """
    if path.suffix.lower() == ".txt":
        found = [LinkingQuestion(line) for line in _lines(path)]
    elif _is_json(path):
        found = [_item(place, item) for place, item in _items(path)]
    else:
        found = [_row(place, row) for place, row in plain_rows(path)]
    if not found:
        raise InputError(f"{path} holds no question; expected {_EXPECTED}, or one a line in .txt")
    return found


def _is_json(path: Path) -> bool:
    if inner_ending(path) != ".json" or not path.is_file():
        return False
    with open_unpacked(path) as stream:
        return begins_array(stream)


def _items(path: Path) -> Iterator[tuple[str, Any]]:
    with open_unpacked(path) as stream:
        yield from items(stream, str(path), _EXPECTED)


def _lines(path: Path) -> Iterator[str]:
    for file in data_files(path):
        try:
            # Not splitlines(): it also cuts at signs that may stand within a line, such as U+2028.
            lines = file.read_text(encoding="utf-8-sig").split("\n")
        except OSError as error:
            raise InputError(
                f"{file} cannot be read: {error.strerror or error}; fix that, or name another"
            ) from error
        except UnicodeDecodeError as error:
            raise InputError(f"{file} cannot be read: {error}; save it as UTF-8 text") from error
        yield from (line.strip() for line in lines if line.strip())


def _item(place: str, item: Any) -> LinkingQuestion:
    if isinstance(item, dict):
        return _row(place, item)
    if not isinstance(item, list) or len(item) != 2:
        raise _refused(place, item, _EXPECTED)
    return LinkingQuestion(_text(place, item[0]), _ids(place, item[1]))


def _row(place: str, row: dict[str, Any]) -> LinkingQuestion:
    text = _text(f"{place}, field 'question'", row.get("question"))
    named = next((name for name in _FIELDS if row.get(name) is not None), None)
    if named is None:
        return LinkingQuestion(text)
    place = f"{place}, field {named!r}"
    value = row[named]
    if isinstance(value, str) and value.lstrip().startswith("["):  # a cell of a table
        value = decoded(place, value.encode(), _EXPECTED)
    return LinkingQuestion(text, _ids(place, value))


def _text(place: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _refused(place, value, "a question, as text")
    return value


def _ids(place: str, value: Any) -> tuple[str, ...]:
    """The different ids of a list of ids, graphs or triples."""
    if not isinstance(value, list):
        raise _refused(place, value, "a list of ids, graphs or triples")
    return tuple(dict.fromkeys(_id(f"{place}, number {i}", one) for i, one in enumerate(value, 1)))


def _id(place: str, value: Any) -> str:
    one = value
    if isinstance(value, dict):
        one = value.get("qid")
    elif isinstance(value, Sequence) and not isinstance(value, str) and value:
        one = value[0]
    if not isinstance(one, str) or not one.strip():
        raise _refused(place, value, "an id, a graph with 'qid', or [qid, property, value]")
    return one.strip()


def _refused(place: str, found: Any, expected: str) -> InputError:
    return InputError(f"{place}: found {describe(found)}; expected {expected}. Fix the file")
