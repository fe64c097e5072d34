"""What a file beside the documents says of them: numbers of popularity, links."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from trueground.builders.grounding.documents.document import Raw
from trueground.builders.grounding.documents.popularity import NoNumber, number
from trueground.builders.grounding.documents.rows import BadField, name_in, targets_of
from trueground.errors import InputError
from trueground.records.reading import plain_rows
from trueground.retrieval.corpora.corpus import page_key

_KEYS = ("path", "id", "title")


def add_meta(
    path: Path, raws: Sequence[Raw], fields: Sequence[str], note: Callable[[str], None]
) -> None:
    """Give each document the fields of its row in the file; links there replace those of its text.

    A row names its document by path, id or title. `fields` are those that must be numbers.
    InputError: a row that cannot be read, or names none. Rows whose document is not there are
    counted and noted.
    """
    known: dict[str, Raw] = {}
    for raw in raws:
        for known_as in (raw.id, raw.title, *raw.names):
            known.setdefault(page_key(known_as), raw)
    strange: list[str] = []
    for place, row in plain_rows(path):
        try:
            names = [name for key in _KEYS if (name := name_in(row, key))]
            targets = targets_of(row["links"]) if "links" in row else None
            _check_numbers(row, fields)
        except BadField as problem:
            raise InputError(f"{place}, {problem}") from None
        if not names:
            raise InputError(
                f"{place}: names no document; expected one of the fields {', '.join(_KEYS)}"
            )
        keys = [key for name in names if (key := page_key(name)) in known]
        if not keys:
            strange.append(place)
            continue
        found = known[keys[0]]
        found.row.update(_others(row))
        if targets is not None:
            found.targets = targets
    if strange:
        rows = "1 row is" if len(strange) == 1 else f"{len(strange):,} rows are"
        note(f"{path}: {rows} about no document that was read, first {strange[0]}")


def _check_numbers(row: dict[str, Any], fields: Sequence[str]) -> None:
    """Raises BadField."""
    for name in fields:
        try:
            number(row.get(name))
        except NoNumber as problem:
            raise BadField(f"field {name!r}: {problem}") from None


def _others(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in (*_KEYS, "links")}
