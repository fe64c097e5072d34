"""A row's columns as the fields of a record, by a mapping; breakdown fields."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

import msgspec

from trueground.errors import UsageError
from trueground.options import split_pair
from trueground.records.column_names import (
    ROWS_REMEMBERED,
    WATCHED,
    ColumnShapes,
    choose_columns,
    fits,
    format_columns,
    plain_column,
)
from trueground.records.problems import FIELDS, Problem, describe, shorten, unquote_remedy
from trueground.types import Record

OWN_FIELDS = ("model", "group", "answerable")
_HUMAN = "human."
_OTHER = "response_b"
_NAMES_KEPT = 10_000
_LABEL_EXPECTED = "a finite number, or true or false (an empty cell is no label)"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_FLAGS = {"true": 1.0, "false": 0.0}


def look_up(row: dict[str, Any], name: str) -> tuple[bool, Any]:
    """Is the name there, and its value; a dotted name descends where no key is called so."""
    if name in row:
        return True, row[name]
    head, dot, rest = name.partition(".")
    while dot:
        inner = row.get(head)
        if isinstance(inner, dict):
            present, value = look_up(inner, rest)
            if present:
                return True, value
        more, dot, rest = rest.partition(".")
        head = f"{head}.{more}"
    return False, None


def field_text(record: Record, field: str) -> str | None:
    """A field of the record, or a key of `meta` (dots go deeper); None where it is absent.

    Strings as they are, everything else as JSON.
    """
    if field in OWN_FIELDS:
        value = getattr(record, field)
    else:
        value = look_up(record.meta or {}, field.removeprefix("meta."))[1]
    return value if value is None or isinstance(value, str) else msgspec.json.encode(value).decode()


def parse_mapping(text: str) -> dict[str, str]:
    """`"question=query,contexts=docs"` → `{"question": "query", "contexts": "docs"}`.

    Beside the fields of a record there are `human.NAME`, a label, and `response_b`. UsageError: a
    part without `=`, an empty side, a field that does not exist or stands twice.
    """
    mapping: dict[str, str] = {}
    for part in text.split(","):
        field, column = split_pair(
            f"the mapping {text!r}:",
            part,
            "FIELD=COLUMN,FIELD=COLUMN, for example question=query,contexts=docs",
        )
        if field in mapping:
            raise UsageError(f"the mapping {text!r} names the field {field!r} twice")
        mapping[field] = column
    check_fields(mapping)
    return mapping


def check_fields(names: Iterable[str]) -> None:
    """UsageError for a name that is no field of a record, no `human.NAME`, no `response_b`."""
    for name in names:
        if name == _HUMAN:
            raise UsageError(
                "the mapping names no label after 'human.'; write human.NAME=COLUMN, for example "
                "human.faithful=score"
            )
        if name not in FIELDS and not _is_member(name):
            raise UsageError.unknown_name("field", name, FIELDS | {f"{_HUMAN}NAME", _OTHER})


def _is_member(name: str) -> bool:
    """Is this, in a mapping, no field but a member of one?"""
    return name == _OTHER or name.startswith(_HUMAN)


class ColumnMap:
    """What the columns of one file stand for: as the user maps them, else by their names.

    `aliases` are the columns read under the field's name, `doubtful` those that could each be it.
    """

    def __init__(self, mapping: Mapping[str, str]) -> None:
        self.mapping = dict(mapping)
        self.aliases: dict[str, str] = {}
        self.doubtful: dict[str, list[str]] = {}
        self.shapes = ColumnShapes()
        self.seen: set[str] = set()  # mapped fields whose column stood in some row
        self._present: set[str] = set()
        self._known: set[str] = set()  # columns that need no second look

    def column(self, field: str) -> str:
        """The column that holds the field."""
        return self.mapping.get(field) or self.aliases.get(field, field)

    def add(self, row: Mapping[str, Any]) -> None:
        """Note which columns there are; `settle` decides."""
        if self.shapes.rows < ROWS_REMEMBERED:
            self.shapes.add(row)
        for name in row.keys() - self._known:
            plain = plain_column(name)
            if plain not in WATCHED:
                if len(self._known) < _NAMES_KEPT:
                    self._known.add(name)
            elif fits(plain, row[name]):
                self._known.add(name)
                self._present.add(name)

    def settle(self) -> bool:
        """Decide by the rows so far what columns stand for; False where that is as it was."""
        before = self.aliases
        self.aliases, self.doubtful = choose_columns(self._present, self.mapping)
        return self.aliases != before

    def describe(self) -> str:
        """Which columns are read under another name, and which could be but are not."""
        return format_columns(self.aliases, self.doubtful, self._present)

    def update(self, other: ColumnMap) -> None:
        """Add what rows behind these have shown; `settle` decides."""
        self.seen |= other.seen
        self._present |= other._present

    def apply(self, row: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """(row under our names, fields that mapped columns displaced, members of fields).

        The members are values of `human.NAME` and `response_b` as they stand in the columns; see
        `place_members`.
        """
        if not row.keys() <= self._known or self.shapes.rows < ROWS_REMEMBERED:
            self.add(row)
        for field, column in self.aliases.items():
            if (value := row.pop(column, None)) is not None:
                row[field] = value
        if not self.mapping:
            return row, {}, {}
        mapped: dict[str, Any] = {}
        for field, column in self.mapping.items():
            present, value = look_up(row, column)
            if present:
                mapped[field] = value
                self.seen.add(field)
        consumed = set(self.mapping.values())
        rest = {name: value for name, value in row.items() if name not in consumed}
        members = {name: mapped.pop(name) for name in list(mapped) if _is_member(name)}
        displaced = {name: rest.pop(name) for name in mapped if name in rest}
        return rest | mapped, displaced, members

    def hint(self, field: str) -> str | None:
        """The column that could be the field, and what to type; None: settled, or none is."""
        if self.column(field) != field or field in self._present:
            return None
        taken = {*self.mapping.values(), *self.aliases.values(), *FIELDS}
        return self.shapes.hint(field, taken, self.doubtful.get(field, ()))

    def place_members(self, row: dict[str, Any], members: Mapping[str, Any]) -> dict[str, Any]:
        """Puts mapped members where they belong in the row; returns the labels they displace.

        Problem: a label that is no number.
        """
        displaced: dict[str, Any] = {}
        for name, value in members.items():
            if name == _OTHER:
                # What a row's own meta says wins over unknown fields, and the mapping over both.
                if isinstance(row.get("meta") or {}, dict):
                    row["meta"] = (row.get("meta") or {}) | {_OTHER: value}
                continue
            label = _read_label(value, name, self.mapping[name])
            human = row.get("human")
            if human is not None and not isinstance(human, dict):
                continue  # the schema of records says what is wrong with it
            human = dict(human or {})
            old = human.pop(name.removeprefix(_HUMAN), None)
            if old is not None and old != label:
                displaced[name] = old
            if label is not None:
                human[name.removeprefix(_HUMAN)] = label
            row["human"] = human or None
        return displaced


def _read_label(value: Any, name: str, column: str) -> float | None:
    """A cell as a number, None where it is empty. Problem: anything else."""
    number: float | None = None
    if isinstance(value, str):
        text = value.strip()
        if not text:
            return None
        number = _FLAGS.get(text.lower())
        if number is None and _NUMBER.fullmatch(text):
            number = float(text)
    elif value is None:
        return None
    elif isinstance(value, bool | int | float):
        try:
            number = float(value)
        except OverflowError:
            number = None
    if number is None or not isfinite(number):
        remedy = "; write 1 for yes and 0 for no, or leave the cell empty"
        if isinstance(value, dict):
            key = shorten(str(next(iter(value), "KEY")), 30)
            remedy = f"; name what is in it with a dot: --map {name}={shorten(column)}.{key}"
        elif isinstance(value, str):
            remedy = unquote_remedy(value) or remedy
            if _NUMBER.fullmatch(plain := value.strip().replace(",", ".", 1)):
                remedy = f"; write {shorten(plain)}"
        found = f"{describe(value)} in the column {shorten(column)!r}"
        raise Problem(name, found, f"{_LABEL_EXPECTED}{remedy}")
    return number
