"""A breakdown field of a record, by name."""

from __future__ import annotations

from collections.abc import Iterable

from trueground.types import Record

OWN_FIELDS = ("model", "group", "answerable")


def field_value(record: Record, field: str) -> object:
    """A field of the record, or a key of `meta` (dots go deeper); None where it is absent."""
    if field in OWN_FIELDS:
        return getattr(record, field)
    value: object = record.meta
    for part in field.removeprefix("meta.").split("."):
        if not isinstance(value, dict):
            return None
        value = value.get(part)
    return value


def is_known(field: str, breakdowns: Iterable[str]) -> bool:
    """Whether a field, or the `meta` key that it goes into, is among these."""
    top = field.removeprefix("meta.").partition(".")[0]
    return field in breakdowns or f"meta.{top}" in breakdowns
