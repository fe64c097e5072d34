"""Users' own column names → the fields of a record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from trueground.errors import InputError, UsageError, unknown_name
from trueground.records.fields import look_up
from trueground.records.members import HUMAN, OTHER, is_member
from trueground.types import Record

FIELDS = frozenset(Record.__struct_fields__)
_ROWS_REMEMBERED = 1000


def parse_mapping(text: str) -> dict[str, str]:
    """`"question=query,contexts=docs"` → `{"question": "query", "contexts": "docs"}`.

    Beside the fields of a record there are `human.NAME`, a label, and `response_b`. UsageError: a
    part without `=`, an empty side, a field that does not exist or stands twice.
    """
    mapping: dict[str, str] = {}
    for part in text.split(","):
        field, equals, column = (piece.strip() for piece in part.partition("="))
        if not (equals and field and column):
            raise UsageError(
                f"cannot read {part.strip()!r} in the mapping {text!r}; write "
                "FIELD=COLUMN,FIELD=COLUMN, for example question=query,contexts=docs"
            )
        if field in mapping:
            raise UsageError(f"the mapping {text!r} names the field {field!r} twice")
        mapping[field] = column
    check_fields(mapping)
    return mapping


def check_fields(names: Iterable[str]) -> None:
    """UsageError for a name that is no field of a record, no `human.NAME`, no `response_b`."""
    for name in names:
        if name == HUMAN:
            raise UsageError(
                "the mapping names no label after 'human.'; write human.NAME=COLUMN, for example "
                "human.faithful=score"
            )
        if name not in FIELDS and not is_member(name):
            raise unknown_name("field", name, FIELDS | {f"{HUMAN}NAME", OTHER})


class Mapped(NamedTuple):
    """A row under our names, the fields that mapped columns displaced, and members of fields.

    `members` are values of `human.NAME` and `response_b`, as they stand in the columns.
    """

    row: dict[str, Any]
    displaced: dict[str, Any]
    members: dict[str, Any]


class ColumnMap:
    """Renames the columns of each row and remembers which of them were ever seen."""

    def __init__(self, mapping: Mapping[str, str]) -> None:
        self.mapping = dict(mapping)
        self._unseen = dict(mapping)
        self._columns: dict[str, None] = {}
        self._rows = 0

    def apply(self, row: dict[str, Any]) -> Mapped:
        """The row under our names."""
        self._remember(row)
        found: dict[str, Any] = {}
        for field, column in self.mapping.items():
            present, value = look_up(row, column)
            if present:
                found[field] = value
                self._unseen.pop(field, None)
        consumed = set(self.mapping.values())
        rest = {name: value for name, value in row.items() if name not in consumed}
        members = {name: found.pop(name) for name in list(found) if is_member(name)}
        displaced = {name: rest.pop(name) for name in found if name in rest}
        return Mapped(rest | found, displaced, members)

    def require_seen(self, file: str) -> None:
        """InputError for the first mapped column that stood in no row."""
        for field, column in self._unseen.items():
            near = get_close_matches(column, self._columns, n=3, cutoff=0.6)
            hint = f" Did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
            raise InputError(
                f"{file}: no row has the column {column!r} that is mapped to {field!r}.{hint} "
                f"Columns found: {', '.join(self._columns) or 'none'}."
            )

    def _remember(self, row: dict[str, Any]) -> None:
        if self._rows >= _ROWS_REMEMBERED:
            return
        self._rows += 1
        for name, value in row.items():
            self._columns.setdefault(name)
            if isinstance(value, dict):
                for inner in value:
                    self._columns.setdefault(f"{name}.{inner}")
