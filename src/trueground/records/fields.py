"""A breakdown field of a record, by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from trueground.types import Record

OWN_FIELDS = ("model", "group", "answerable")


def look_up(row: dict[str, Any], name: str) -> tuple[bool, Any]:
    """Is the name there, and its value; a dotted name descends where no key is called so."""
    if name in row:
        return True, row[name]
    head, dot, rest = name.partition(".")
    while dot:
        inner = row.get(head)
        if isinstance(inner, dict):
            found, value = look_up(inner, rest)
            if found:
                return True, value
        more, dot, rest = rest.partition(".")
        head = f"{head}.{more}"
    return False, None


def field_value(record: Record, field: str) -> object:
    """A field of the record, or a key of `meta` (dots go deeper); None where it is absent."""
    if field in OWN_FIELDS:
        return getattr(record, field)
    return look_up(record.meta or {}, field.removeprefix("meta."))[1]


def field_text(record: Record, field: str) -> str | None:
    """The same as text: strings as they are, everything else as JSON."""
    value = field_value(record, field)
    if value is None or isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()


def is_known(field: str, breakdowns: Iterable[str]) -> bool:
    """Whether a field, or the `meta` key that it goes into, is among these."""
    known = set(breakdowns)
    name = f"meta.{field.removeprefix('meta.')}"
    return field in known or any(name == k or name.startswith(f"{k}.") for k in known)
