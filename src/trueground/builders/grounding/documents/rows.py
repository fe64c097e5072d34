"""Documents that are rows of data files: JSON lines, JSON, CSV, Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from trueground.builders.base import Dropped
from trueground.builders.grounding.documents.document import Raw
from trueground.builders.grounding.documents.links import text_links
from trueground.builders.grounding.documents.tidying import Binary, tidied
from trueground.errors import InputError
from trueground.records.jsontext import decode, decode_row
from trueground.records.parts import Part, file_part
from trueground.records.problems import Problem, describe
from trueground.records.spool import Spool

_ROW = 'one JSON object such as {"title": "…", "text": "…"}'
_OWN = ("id", "title", "text", "links", "url")
_BINARY = ("NUL", "UTF-8", "surrogate")


class BadField(ValueError):  # noqa: N818 - becomes a reason
    """A field of a row has a wrong type; the words name it."""


def read_rows(file: Path) -> Iterator[Raw | Dropped]:
    """The documents of a file; rows that hold none are dropped, with their places."""
    spool = Spool()
    try:
        part = file_part(str(file), spool, {}, None)
        with closing(part.rows()) as rows:
            for number, value in rows:
                yield _read(
                    part, f"{part.name}, {part.unit} {number}", f"{file.name}:{number}", value
                )
    except InputError as error:
        yield Dropped(str(file), "unreadable", str(error))
    finally:
        spool.close()


def _read(part: Part, place: str, usual: str, value: Any) -> Raw | Dropped:
    """`usual` is the id of a row that has neither id nor title."""
    try:
        if isinstance(value, Problem):
            raise value
        row = decode_row(value, _ROW) if isinstance(value, bytes) else value
        row = part.tidy(row) if part.tidy else row
        return _raw(place, usual, part.cells(row) if part.cells else row)
    except Problem as problem:
        reason = "binary" if any(word in problem.found for word in _BINARY) else "unreadable"
        where = f"{place}, field {problem.field!r}" if problem.field else place
        found = f"{where}: found {problem.found}; expected {problem.expected}"
        return Dropped(problem.row_id or usual, reason, found)
    except Binary as problem:
        return Dropped(usual, "binary", f"{place}: {problem}")
    except BadField as problem:
        return Dropped(usual, "bad_field", f"{place}, {problem}")


def _raw(place: str, usual: str, row: dict[str, Any]) -> Raw:
    """Raises Binary, BadField."""
    title = " ".join((text_in(row, "title") or "").split())
    id_ = (text_in(row, "id") or "").strip() or title or usual
    text, url = text_in(row, "text") or "", text_in(row, "url")
    plain, targets = text_links(text)
    if row.get("links") is not None:
        targets = targets_of(row["links"])
    return Raw(
        place=place,
        id=id_,
        title=title or id_,
        text=tidied(plain),
        names=[url] if url else [],
        targets=targets,
        row={key: value for key, value in row.items() if key not in _OWN},
    )


def text_in(row: dict[str, Any], name: str) -> str | None:
    """A field's text; a whole number is written out. None where it is absent. BadField."""
    value = row.get(name)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
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
