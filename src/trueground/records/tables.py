"""CSV and Parquet files and data frames, row by row, and what their cells mean."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Generator, Iterator
from typing import Any

from trueground.errors import InputError
from trueground.records.jsonl import decode
from trueground.records.limits import LARGEST_ROW, too_large
from trueground.records.problems import Problem, clean, is_absent
from trueground.records.python_literals import parse_python

NumberedRows = Generator[tuple[int, dict[str, Any] | Problem], None, None]
_ROWS = 1024
_FLAGS = {"true": True, "1": True, "false": False, "0": False}
_TEXTS = 'a JSON list such as ["…"], or a list as Python prints it'
_TRIPLES = 'a JSON list such as [["Q90", "country", "France"]]'
_JSON_FIELDS = {
    "history": 'a JSON list such as ["…"]',
    "contexts": _TEXTS,
    "references": _TEXTS,
    "gold_facts": _TEXTS,
    "response_facts": _TEXTS,
    "choices": 'a JSON list such as [{"label": "A", "text": "…"}]',
    "knowledge": 'a JSON list such as [{"qid": "Q90"}]',
    "gold_knowledge": _TRIPLES,
    "absent_knowledge": _TRIPLES,
    "human": 'a JSON object such as {"faithful": 1}',
    "meta": 'a JSON object such as {"topic": "…"}',
}
# A header of one column that holds `other` was separated by something else than was expected.
_SEPARATORS = ((";", "a comma"), ("\t", "a comma, or call the file .tsv"), (",", "a tab"))


def decode_cells(row: dict[str, Any]) -> dict[str, Any]:
    """The row with lists and objects written in its cells decoded, and `answerable` as a bool.

    They may be JSON, or as Python prints them. Other text in such a field stays text: a lone
    context or reference.
    """
    for field in _JSON_FIELDS.keys() & row.keys():
        cell = row[field]
        if isinstance(cell, str) and cell.lstrip()[:1] in ("[", "{"):
            try:
                row[field] = decode(cell)
            except Problem as problem:
                try:
                    row[field] = clean(parse_python(cell), field)
                except ValueError:
                    raise Problem(field, problem.found, _JSON_FIELDS[field]) from None
    flag = row.get("answerable")
    if isinstance(flag, str):
        row["answerable"] = _FLAGS.get(flag.strip().lower(), flag)
    return row


def split_cell(row: dict[str, Any], separator: str) -> None:
    """Cut contexts that are one text; a text without the separator may still be a list."""
    cell = row.get("contexts")
    if not isinstance(cell, str):
        return
    if separator not in cell:
        try:
            row["contexts"] = decode_cells({"contexts": cell})["contexts"]
            return
        except Problem:
            pass  # a text that begins with a bracket
    row["contexts"] = [piece.strip() for piece in cell.split(separator) if piece.strip()]


def clean_cells(row: dict[str, Any]) -> dict[str, Any]:
    """The row without empty cells, every other one as plain values."""
    return {name: clean(value, name) for name, value in row.items() if not is_absent(value)}


class BoundedLines:
    """The lines of a CSV file for `csv.reader`; `size` is what its present row has taken so far.

    Whoever has taken a row sets it to 0. InputError for a row beyond the limit.
    """

    def __init__(self, text: io.TextIOWrapper, name: str) -> None:
        self.size = 0
        self._read = text.readline
        self._name = name

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._read(LARGEST_ROW + 1)
        self.size += len(line)
        if self.size > LARGEST_ROW:
            raise too_large(self._name)
        if not line:
            raise StopIteration
        return line


def read_cells(
    stream: io.BufferedReader, name: str, delimiter: str
) -> Generator[list[str], None, None]:
    """Yield the cells of each row, as Python's csv reads them with its defaults. InputError.

    Broken UTF-8 is left in the cells as lone surrogates.
    """
    csv.field_size_limit(max(csv.field_size_limit(), LARGEST_ROW))
    text = io.TextIOWrapper(stream, encoding="utf-8", errors="surrogateescape", newline="")
    lines = BoundedLines(text, name)
    rows = csv.reader(lines, delimiter=delimiter)
    try:
        for cells in rows:
            lines.size = 0
            yield cells
    except csv.Error as error:
        raise InputError(
            f"{name}, line {rows.line_num}: {error}; a quotation mark is probably missing there"
        ) from None
    finally:
        text.detach()  # the stream is closed by the one who opened it


def read_csv(
    stream: io.BufferedReader, name: str, delimiter: str, response: str
) -> Generator[tuple[int, dict[str, str] | Problem], None, None]:
    """(1-based data row, its cells by column name). Empty cells are left out, except `response`."""
    csv.field_size_limit(max(csv.field_size_limit(), LARGEST_ROW))
    # Broken UTF-8 must reach us as a row, to be named with its place.
    text = io.TextIOWrapper(stream, encoding="utf-8", errors="surrogateescape", newline="")
    try:
        lines = BoundedLines(text, name)
        rows = csv.reader(lines, delimiter=delimiter, strict=True)
        header = _read_header(rows, name, delimiter)
        number = 0
        while True:
            row: dict[str, str] | Problem
            try:
                cells = next(rows, None)
                if cells is None:
                    return
                if not cells:
                    continue
                row = _csv_row(header, cells, response)
            except csv.Error as error:
                cut = "unexpected end of data" in str(error)
                found = (
                    "the end of the file inside a quoted cell" if cut else f"a CSV error: {error}"
                )
                quoted = 'cells quoted like "…", quotation marks in them doubled'
                row = Problem(None, found, 'a closing quotation mark (")' if cut else quoted)
            number += 1
            yield number, row
            lines.size = 0
    finally:
        text.detach()  # the stream is closed by the one who opened it


def _read_header(rows: Iterator[list[str]], name: str, delimiter: str) -> list[str]:
    try:
        header = [column.strip() for column in next(rows, [])]
    except csv.Error as error:
        raise InputError(f"{name}: the header row cannot be read: {error}") from error
    if not any(header):
        raise InputError(f"{name}: the first row names no columns; it holds no records")
    try:
        "".join(header).encode()
    except UnicodeEncodeError:
        raise InputError(f"{name}: the header row is not UTF-8; save the file as UTF-8") from None
    twice = sorted(column for column, times in Counter(header).items() if times > 1)
    if twice:
        raise InputError(f"{name}: the header names {', '.join(map(repr, twice))} more than once")
    for other, ending in _SEPARATORS:
        if len(header) == 1 and other != delimiter and other in header[0]:
            raise InputError(
                f"{name}: the header is one column, {header[0]!r}; separate the columns by {ending}"
            )
    return header


def _csv_row(header: list[str], cells: list[str], response: str) -> dict[str, str] | Problem:
    for column, cell in zip(header, cells, strict=False):
        if not cell.isascii():
            try:
                cell.encode()
            except UnicodeEncodeError as error:
                byte = ord(cell[error.start]) - 0xDC00
                return Problem(
                    column, f"invalid UTF-8 (byte 0x{byte:02x})", "UTF-8; save the file as UTF-8"
                )
        if "\0" in cell:
            return Problem(column, "a NUL byte", "text without NUL bytes")
    if len(cells) != len(header):
        return Problem(
            None,
            f"{len(cells)} cell{'s' if len(cells) > 1 else ''}",
            f"{len(header)}, one for each column of the header (is the file cut off, or a comma "
            "not in quotation marks?)",
        )
    columns = zip(header, cells, strict=True)
    return {column: cell for column, cell in columns if cell or column == response}


def read_parquet(path: str, name: str, first: int, count: int | None) -> NumberedRows:
    """(1-based row, its cells) of `count` rows (None: of all) behind the `first` ones.

    `path` may be a URL of an object store. Memory grows with the size of the file's row groups.
    """
    import polars as pl

    try:
        frame = pl.scan_parquet(path, glob=False, hive_partitioning=False).slice(first, count)
        number = first
        for batch in frame.collect_batches(chunk_size=_ROWS, maintain_order=True):
            for row in batch.iter_rows(named=True):
                number += 1
                yield number, row
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{name} is not a sound Parquet file: {error}") from error


def count_parquet(path: str, name: str) -> int:
    """The number of rows, by the file's own account. InputError."""
    import polars as pl

    try:
        frame = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        return int(frame.select(pl.len()).collect().item())
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{name} is not a sound Parquet file: {error}") from error


def read_frame(frame: Any) -> NumberedRows:
    """(1-based row, its cells) of a polars or a pandas data frame."""
    columns = [str(column) for column in frame.columns]
    if len(set(columns)) < len(columns):
        raise InputError("the data frame has two columns of one name; rename one")
    if hasattr(frame, "iter_rows"):
        yield from enumerate(frame.iter_rows(named=True), start=1)
        return
    number = 0
    for start in range(0, len(frame), _ROWS):
        for cells in frame.iloc[start : start + _ROWS].itertuples(index=False, name=None):
            number += 1
            yield number, dict(zip(columns, cells, strict=True))
