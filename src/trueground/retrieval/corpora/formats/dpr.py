"""Tab-separated passages as DPR and TopiOCQA publish them: id, text, title; what DPR retrieved."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from trueground.errors import InputError
from trueground.records.files import LARGEST_ROW, inner_ending, open_unpacked, require_readable
from trueground.records.problems import Problem, clean_text, describe
from trueground.records.reading import plain_rows
from trueground.records.tables import BoundedLines

_COLUMNS = ["id", "text", "title"]


def is_dpr(path: Path) -> bool:
    """Does a .tsv file, maybe packed, begin with the header id, text, title? Raises InputError."""
    if inner_ending(path) != ".tsv":
        return False
    require_readable(path, str(path))
    with open_unpacked(path) as stream:
        return _header(stream.readline(1_000)) == _COLUMNS


def dpr_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """(place, row) of psgs_w100.tsv, full_wiki_segments.tsv and files of that shape.

    Quoted cells are read as the publishers' own code does (Python's csv with its defaults): what
    stands after a closing quotation mark still belongs to the cell. InputError names the row.
    """
    csv.field_size_limit(max(csv.field_size_limit(), LARGEST_ROW))
    name = str(path)
    with open_unpacked(path) as stream:
        # Broken UTF-8 must reach us as a row, to be named with its place.
        text = io.TextIOWrapper(stream, encoding="utf-8", errors="surrogateescape", newline="")
        try:
            for number, cells in enumerate(_cells(text, name)):
                if number and cells:
                    place = f"{name}, row {number}"
                    yield place, _row(cells, place)
        finally:
            text.detach()


def _cells(text: io.TextIOWrapper, name: str) -> Iterator[list[str]]:
    lines = BoundedLines(text, name)
    rows = csv.reader(lines, delimiter="\t")
    try:
        for cells in rows:
            lines.size = 0
            yield cells
    except csv.Error as error:
        raise InputError(
            f"{name}, line {rows.line_num}: {error}; a quotation mark is probably missing there"
        ) from None


def _row(cells: list[str], place: str) -> dict[str, Any]:
    if len(cells) != len(_COLUMNS):
        raise InputError(
            f"{place}: found {len(cells)} cells; expected 3: id, text and title, with tabs between "
            "(is the file cut off, or a quotation mark not closed?)"
        )
    for column, cell in zip(_COLUMNS, cells, strict=True):
        if cell.isascii() and "\0" not in cell:
            continue
        try:
            clean_text(cell, column)
        except Problem as problem:
            raise InputError(
                f"{place}, field {column!r}: found {problem.found} or broken UTF-8; expected "
                "UTF-8 text"
            ) from None
    return dict(zip(_COLUMNS, cells, strict=True))


def _header(line: bytes) -> list[str]:
    return line.decode("utf-8", "replace").rstrip("\r\n").replace('"', "").split("\t")


def is_results(path: Path) -> bool:
    """Is it what DPR's retriever writes: rows with `ctxs`, the passages that it found?"""
    if inner_ending(path) not in (".json", ".jsonl"):
        return False
    try:
        with closing(plain_rows(path)) as rows:
            _, row = next(rows, ("", {}))
    except InputError:
        return False
    ctxs = row.get("ctxs")
    return isinstance(ctxs, list) and all(isinstance(one, dict) for one in ctxs)


def found_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """(place, row) of each passage that was found for any question, once.

    Kept in memory are the ids. InputError: no text, or another one under the same id.
    """
    seen: dict[str, int] = {}
    for place, row in plain_rows(path):
        ctxs = row.get("ctxs")
        if not isinstance(ctxs, list):
            raise InputError(f"{place}, field 'ctxs': found {describe(ctxs)}; expected a list")
        for number, one in enumerate(ctxs):
            here = f"{place}, field 'ctxs[{number}]'"
            if not isinstance(one, dict) or not one.get("text"):
                raise InputError(
                    f"{here}: found {describe(one)}; expected a passage with its text. Where the "
                    "results have ids alone, name the passages themselves"
                )
            id_, text = str(one.get("id", one["text"])), hash(one["text"])
            if seen.get(id_, text) != text:
                raise InputError(f"{here}: found another text than before with the id {id_!r}")
            if id_ in seen:
                continue
            seen[id_] = text
            yield here, {"id": id_, "title": one.get("title"), "text": one["text"]}
