"""Filled spreadsheets: CSV as any program saves it, whatever its separators and line ends."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from trueground.annotation.base import TaskKind
from trueground.annotation.given import Given
from trueground.annotation.kinds import KINDS
from trueground.annotation.sheets import numbered_lists, parse_draw_cell, parts_column, unguard
from trueground.annotation.values import NONE
from trueground.errors import InputError
from trueground.records.problems import shorten

_SEPARATORS = ",;\t|"
_LONGEST = 2**31 - 1
_HEADER = 10_000  # characters in which the names of the columns stand
_TOLD = re.compile(r"\s*\[.*\]\s*$", re.DOTALL)
_PARTS = re.compile(r"1\s*to\s*(\d{1,6})")


class SheetRow(NamedTuple):
    """One row of a sheet: the task, and the raw answers by field."""

    number: int
    given: Given
    annotator: str
    answer: Mapping[str, str]
    seconds: str
    comment: str
    check: str


def read_sheet(path: Path) -> Iterator[SheetRow]:
    """The rows of a filled sheet, numbered as spreadsheets number them. InputError."""
    text = _text(path)
    rows = _rows(path, text)
    names = next(rows, None)
    if names is None:
        raise InputError(f"{path} is empty; expected a file of `trueground annotate export --csv`")
    columns = _columns(path, names[1])
    for number, cells in rows:
        if any(cell.strip() for cell in cells):
            yield _row(path, number, cells, columns)


def _text(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        return content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}, line {line}: byte {content[error.start]:#04x} is not UTF-8 (saved as Latin-1 "
            'or Windows-1252?); save the sheet as "CSV UTF-8", in LibreOffice with the character '
            "set Unicode (UTF-8)"
        ) from None


def _rows(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """The rows with their numbers; a first line that names the separator is none."""
    named = re.match(r"sep=([,;\t|])\r?\n", text)
    body = text[named.end() :] if named else text
    separator = named[1] if named else _separator(body)
    before = csv.field_size_limit(_LONGEST)
    try:
        reader = csv.reader(io.StringIO(body, newline=""), delimiter=separator, strict=True)
        # All at once: the limit holds for the whole process, and must not stay.
        rows = list(enumerate(reader, 1))
    except csv.Error as error:
        raise InputError(
            f"{path} is no table: {error}; save the sheet as CSV again, with texts in quotes"
        ) from None
    finally:
        csv.field_size_limit(before)
    return iter(rows)


def _separator(text: str) -> str:
    """The separator by which the first row has a cell `kind`, and the most cells."""
    first = re.split(r"[\r\n]", text.lstrip("\r\n")[:_HEADER], maxsplit=1)[0]
    cells = {sign: next(csv.reader([first], delimiter=sign), []) for sign in _SEPARATORS}
    return max(cells, key=lambda sign: ("kind" in cells[sign], len(cells[sign])))


def _columns(path: Path, names: Sequence[str]) -> dict[str, int]:
    """Where each column stands, by its name without what may be filled in."""
    found: dict[str, int] = {}
    for place, name in enumerate(names):
        bare = _TOLD.sub("", name).strip()
        if bare in found:
            raise InputError(f"{path}: two columns are called {shorten(bare)!r}; leave one")
        if bare:
            found[bare] = place
    for name in ("kind", "id", "annotator", "check"):
        if name not in found:
            raise InputError(
                f"{path} has no column {name!r}, only {', '.join(map(shorten, names[:12]))}; "
                "expected the columns of `trueground annotate export --csv` in the first row"
            )
    return found


def _row(path: Path, number: int, cells: list[str], columns: Mapping[str, int]) -> SheetRow:
    place = f"{path}, row {number}"
    if len(cells) > len(columns) and any(
        cell.strip() for cell in cells[max(columns.values()) + 1 :]
    ):
        raise InputError(
            f"{place} has {len(cells)} cells, the first row {len(columns)}; put texts that hold "
            "the separator in quotes"
        )

    def cell(name: str) -> str:
        at = columns[name]
        return cells[at] if at < len(cells) else ""

    kind = KINDS.get(cell("kind").strip())
    if kind is None:
        raise InputError(
            f"{place}: unknown kind of task {shorten(cell('kind'))!r}; known: {', '.join(KINDS)}"
        )
    _check_columns(path, kind, columns)
    shown = {name: unguard(cell(name)) for name in kind.shows}
    parts = {name: _parts(place, name, cell(parts_column(name))) for name in numbered_lists(kind)}
    drawn = parse_draw_cell(cell("drawn")) if "drawn" in columns else None
    return SheetRow(
        number,
        Given(kind, unguard(cell("id").strip()), shown, parts, drawn=drawn),
        unguard(cell("annotator").strip()),
        {field.name: unguard(cell(field.name)) for field in kind.fields},
        cell("seconds") if "seconds" in columns else "",
        cell("comment") if "comment" in columns else "",
        cell("check").strip(),
    )


def _check_columns(path: Path, kind: TaskKind, columns: Mapping[str, int]) -> None:
    needed = [*kind.shows, *map(parts_column, numbered_lists(kind)), *(f.name for f in kind.fields)]
    if missing := [name for name in needed if name not in columns]:
        raise InputError(
            f"{path} has no column {', '.join(map(repr, missing))}, which tasks of kind "
            f"{kind.name} have; one sheet holds one kind, with all columns that were exported"
        )


def _parts(place: str, name: str, text: str) -> int:
    if text.strip().lower() == NONE:
        return 0
    found = _PARTS.fullmatch(text.strip())
    if found is None:
        raise InputError(
            f"{place}, column {parts_column(name)!r}: found {shorten(text)!r}; expected what the "
            "export wrote, such as '1 to 7'"
        )
    return int(found[1])
