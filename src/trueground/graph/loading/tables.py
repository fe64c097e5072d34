"""Triples in a table: CSV or TSV with a header, one triple in each row."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from trueground.errors import GraphError
from trueground.graph.loading.base import LoadCounts, Loading
from trueground.graph.loading.formats import is_tabbed
from trueground.graph.loading.rows import ROW_TYPES, ColumnPlaces, RowQuads
from trueground.graph.loading.streams import reading
from trueground.options import Progress

if TYPE_CHECKING:
    from pyoxigraph import Quad

_COLUMNS = {  # how a column may be called → what it holds
    "subject": "subject",
    "qid": "subject",
    "s": "subject",
    "predicate": "predicate",
    "property": "predicate",
    "p": "predicate",
    "object": "object",
    "value": "object",
    "o": "object",
    "subject_label": "subject_label",
    "name": "subject_label",
    "predicate_label": "predicate_label",
    "property_label": "predicate_label",
    "object_label": "object_label",
    "value_label": "object_label",
    "type": "type",
    "unit": "unit",
    "lang": "lang",
    "language": "lang",
}
_CELL = re.compile(r'"((?:[^"]++|"")*+)"(?=\t|$)|([^\t]*)')
Row = tuple[int, list[str]]  # the line where it ends, its cells
_NEEDED = ("subject", "predicate", "object")


def table_quads(
    path: Path, _loading: Loading, counts: LoadCounts, _progress: Progress
) -> Iterator[Quad]:
    """The triples of all rows. GraphError names the row that is none, and what it should be."""
    with reading(path) as stream:
        lines = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        rows = _parted_by_tabs(lines) if is_tabbed(path) else _parted_by_commas(lines)
        number = line = 0
        try:
            line, header = next(rows, (0, []))
            table = _table(path, header)
            made = RowQuads(table)
            for number, (line, row) in enumerate(rows, 1):
                if row:
                    yield from made.quads(f"{path}, row {number} (line {line})", row)
        except (csv.Error, UnicodeDecodeError) as error:
            raise GraphError(
                f"{path}, row {number + 1} (about line {line + 1}): found what cannot be "
                f"read ({error}); expected UTF-8 text, values with commas, quotation marks or line "
                "ends in quotation marks. Fix the row."
            ) from error
        finally:
            lines.detach()
    counts.entities = made.entities
    if not number:
        raise GraphError(f"{path}: found a header and no row; expected triples. Name another file.")


def _parted_by_commas(lines: Iterable[str]) -> Iterator[Row]:
    rows = csv.reader(lines, strict=True)
    for row in rows:
        yield rows.line_num, row


def _parted_by_tabs(lines: Iterable[str]) -> Iterator[Row]:
    """A row is a line. Quotation marks are part of a value unless they go round the whole of it."""
    for number, line in enumerate(lines, 1):
        text = line.rstrip("\r\n")
        if '"' not in text:
            yield number, text.split("\t") if text else []
            continue
        row, at = list[str](), 0
        while at <= len(text) and (match := _CELL.match(text, at)):
            row.append(match[2] if match[1] is None else match[1].replace('""', '"'))
            at = match.end() + 1
        yield number, row


def _table(path: Path, header: list[str]) -> ColumnPlaces:
    places: dict[str, int] = {}
    for place, written in enumerate(header):
        name = _COLUMNS.get(written.strip().lower())
        if name is None or name in places:
            reason = "twice" if name else f"; known are {', '.join(_COLUMNS)}"
            raise _no_header(path, f"the column {written!r}{' ' if name else ''}{reason}")
        places[name] = place
    missing = [name for name in _NEEDED if name not in places]
    if missing:
        raise _no_header(path, f"no column {' and no column '.join(missing)}")
    return ColumnPlaces(places, len(header))


def _no_header(path: Path, found: str) -> GraphError:
    return GraphError(
        f"{path}, header: found {found}; expected subject,predicate,object or qid,property,value, "
        "and if need be subject_label, predicate_label, object_label, type "
        f"({', '.join(ROW_TYPES)}), unit, lang. Fix the first line."
    )
