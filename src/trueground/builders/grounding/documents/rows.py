"""Documents that are rows of data files: JSON lines, JSON, CSV, Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trueground.builders.grounding.documents.document import Raw
from trueground.builders.grounding.documents.links import text_links
from trueground.builders.grounding.documents.tidying import Binary, tidied, tidy_title
from trueground.builders.rejected import Rejected
from trueground.builders.rows import SourceRow, Unusable, source_rows
from trueground.errors import InputError
from trueground.records.jsonl import decode
from trueground.records.problems import Problem, describe

_ROW = 'one JSON object such as {"title": "…", "text": "…"}'
_OWN = ("id", "title", "text", "links", "url")
_REASONS = {"binary": "binary", "blank": "empty", "unreadable": "unreadable"}


class BadField(ValueError):  # noqa: N818 - becomes a reason
    """A field of a row has a wrong type; the words name it."""


def read_rows(file: Path) -> Iterator[Raw | Rejected]:
    """The documents of a file; rows that hold none are dropped, with their places."""
    try:
        for row in source_rows([file], _ROW):
            yield _read(row, f"{file.name}:{row.number}")
    except InputError as error:
        yield Rejected("unreadable", str(error), id=file.name)


def _read(row: SourceRow, usual: str) -> Raw | Rejected:
    """`usual` is the id of a row that has neither id nor title."""
    if isinstance(row.value, Unusable):
        return Rejected(_REASONS[row.value.kind], row.value.found, id=row.value.id or usual)
    try:
        return _raw(row.place, usual, row.value)
    except Binary as problem:
        return Rejected("binary", f"{row.place}: {problem}", id=usual)
    except BadField as problem:
        return Rejected("bad_field", f"{row.place}, {problem}", id=usual)


def _raw(place: str, usual: str, row: dict[str, Any]) -> Raw:
    """Raises Binary, BadField."""
    title = " ".join((name_in(row, "title") or "").split())
    id_ = (name_in(row, "id") or "").strip() or title or usual
    text, url = _text_in(row, "text") or "", _text_in(row, "url")
    plain, targets = text_links(text)
    if row.get("links") is not None:
        targets = targets_of(row["links"])
    return Raw(
        place=place,
        id=id_,
        title=tidy_title(title or id_),
        text=tidied(plain),
        names=[one for one in (title, url) if one],
        targets=targets,
        row={key: value for key, value in row.items() if key not in _OWN},
    )


def name_in(row: dict[str, Any], name: str) -> str | None:
    """An id's or a title's text; a whole number is written out. None where it is absent. BadField.

    A cell of a table that looks like a number is one.
    """
    value = row.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return _text_in(row, name)


def _text_in(row: dict[str, Any], name: str) -> str | None:
    value = row.get(name)
    if value is None or isinstance(value, str):
        return value
    raise BadField(f"field {name!r}: found {describe(value)}; expected a text")


def targets_of(value: Any) -> list[str]:
    """Links as a list of ids or titles: a list, a text with | between, a JSON list. BadField."""
    if isinstance(value, str):
        if not value.lstrip().startswith("["):
            return [one.strip() for one in value.split("|") if one.strip()]
        try:
            value = decode(value)
        except Problem as problem:
            raise BadField(f"field 'links': found {problem.found}; expected a JSON list") from None
    if isinstance(value, list) and all(
        isinstance(one, str | int) and not isinstance(one, bool) for one in value
    ):
        return [str(one).strip() for one in value]
    raise BadField(f"field 'links': found {describe(value)}; expected a list of ids or titles")
