"""Rows of all parts in turn, each as a record or as an account of why it is none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any, NamedTuple

from trueground.records.jsontext import decode_row, too_deep
from trueground.records.mapping import ColumnMap
from trueground.records.members import place_members
from trueground.records.parts import Part
from trueground.records.problems import PlacedRow, Problem, known_id
from trueground.records.shape import to_record
from trueground.types import Record


class Row(NamedTuple):
    """One row: its 0-based number over all parts, its part, its number there, and what it is."""

    ordinal: int
    part: Part
    number: int
    outcome: Record | PlacedRow

    @property
    def place(self) -> str:
        """Where a user finds it: `answers.jsonl, line 3`."""
        return f"{self.part.name}, {self.part.unit} {self.number}"


def read_rows(parts: Sequence[Part], columns: ColumnMap, limit: int | None) -> Iterator[Row]:
    """Every row up to the limit, in input order."""
    ordinal = 0
    for part in parts:
        with closing(part.rows()) as rows:
            for number, value in rows:
                yield Row(ordinal, part, number, _parse(part, number, value, ordinal, columns))
                ordinal += 1
                if ordinal == limit:
                    return


def _parse(
    part: Part, number: int, value: Any, ordinal: int, columns: ColumnMap
) -> Record | PlacedRow:
    """One row as a record, or what keeps it from being one."""
    row: Any = None
    try:
        if isinstance(value, Problem):
            raise value
        row = decode_row(value) if isinstance(value, bytes) else value
        if part.tidy:
            row = part.tidy(row)
        displaced, members = None, None
        if columns.mapping:
            row, displaced, members = columns.apply(row)
        if part.cells:
            row = part.cells(row)
        if members:  # labels join those of the field `human`, which is JSON in a cell until now
            displaced = (displaced or {}) | place_members(row, members, columns.mapping)
        return to_record(row, displaced, ordinal)
    except RecursionError:
        return bad_row(part, number, None, too_deep())
    except Problem as problem:
        known = problem.row_id
        if isinstance(row, dict):
            known = known_id(row) or known_id({"id": row.get(columns.mapping.get("id", "id"))})
        return bad_row(part, number, known, problem)


def bad_row(part: Part, number: int, row_id: str | None, problem: Problem) -> PlacedRow:
    """The account of a problem, with its place."""
    return PlacedRow(
        file=part.name,
        row=number,
        id=row_id,
        field=problem.field,
        found=problem.found,
        expected=problem.expected,
        unit=part.unit,
    )
