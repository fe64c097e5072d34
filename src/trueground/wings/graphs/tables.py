"""Graphs of records, `{"qid", "name", property: value or [values]}`, and tables of triples.

Graphs stand in the form of KaLMA's files (`json_graph`), in a JSON array, or one on each line; a
table is CSV or TSV with a header, one triple in each row.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from trueground.errors import GraphError
from trueground.wings.graphs import quads
from trueground.wings.graphs.json_graph import GRAPH, graph_entries, items
from trueground.wings.graphs.loading import LoadCounts, bare_ending, reading
from trueground.wings.graphs.quads import LABEL
from trueground.wings.graphs.rdf import ALIAS, LABELS, OWN_PROPERTY, entity_iri, property_iri

if TYPE_CHECKING:
    from pyoxigraph import Literal, NamedNode, Quad

_DATED = ("date_of_birth", "date_of_death")  # KaLMA's names of what is a date
_COLUMNS = {  # what a column holds → how it may be called
    "subject": ("subject", "qid", "s"),
    "predicate": ("predicate", "property", "p"),
    "object": ("object", "value", "o"),
    "subject_label": ("subject_label", "name"),
    "predicate_label": ("predicate_label", "property_label"),
    "object_label": ("object_label", "value_label"),
    "type": ("type",),
    "unit": ("unit",),
    "lang": ("lang", "language"),
}
_CALLED = {name: column for column, names in _COLUMNS.items() for name in names}
_NEEDED = ("subject", "predicate", "object")
_TYPES = ("entity", "text", "date", "quantity")
_NAMES = {"label": LABEL, "name": LABEL, "alias": ALIAS}
_NAMES |= {iri: iri for iri in (*LABELS, ALIAS)}
_CELL = re.compile(r'"((?:[^"]++|"")*+)"(?=\t|$)|([^\t]*)')
_ENTITY = re.compile(r"Q[1-9]\d*|https?://[^\s<>\"{}|\\^`]+")
_FULL_DATE = re.compile(r"-?\d{4,}-\d\d-\d\d")
_Row = tuple[int, list[str]]  # the line where it ends, its cells


def graph_quads(path: Path, counts: LoadCounts) -> Iterator[Quad]:
    """The graphs of a file, each once. GraphError names the entry that is none."""
    named: set[str] = set()
    seen: set[int] = set()
    qids: set[str] = set()
    with reading(path) as stream:
        for place, qid, graph in graph_entries(items(stream, str(path), GRAPH)):
            if (mark := hash(repr((qid, graph)))) in seen:
                continue
            seen.add(mark)
            qids.add(qid)
            subject = _node(f"{place}, field 'qid'", entity_iri(qid))
            for name, values in graph.items():
                literals = [quads.of_json(value, is_date=name in _DATED) for value in values]
                if name == "name":
                    for number, literal in enumerate(literals):
                        yield quads.quad(subject, ALIAS if number else LABEL, literal)
                elif literals:
                    predicate = _node(f"{place}, field {name!r}", property_iri(name))
                    if name not in named:
                        named.add(name)
                        yield from quads.property_quads(name, name)
                    yield from (quads.quad(subject, predicate.value, one) for one in literals)
    counts.entities = len(qids)
    if not qids:
        raise GraphError(f"{path}: found no graph at all; expected {GRAPH}. Name another file.")


def table_quads(path: Path, counts: LoadCounts) -> Iterator[Quad]:
    """The triples of all rows. GraphError names the row that is none, and what it should be."""
    entities: set[int] = set()
    labels: set[int] = set()
    with reading(path) as stream:
        lines = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        reader = csv.reader(lines, strict=True)
        commas = ((reader.line_num, row) for row in reader)
        rows = _split_tabs(lines) if bare_ending(path) == ".tsv" else commas
        number = line = 0
        try:
            line, header = next(rows, (0, []))
            columns = _columns(path, header)
            for number, (line, row) in enumerate(rows, 1):
                if not row:
                    continue
                place = f"{path}, row {number} (line {line})"
                if len(row) != len(header):
                    raise GraphError(
                        f"{place}: found {len(row)} columns; expected {len(header)}, as in the "
                        "header. Put values with commas in quotation marks."
                    )
                cells = {name: row[at].strip() for name, at in columns.items()}
                entities.add(hash(cells["subject"]))
                yield from _row_quads(place, cells, labels)
        except (csv.Error, UnicodeDecodeError) as error:
            raise GraphError(
                f"{path}, row {number + 1} (about line {line + 1}): found invalid "
                f"CSV ({error}); expected UTF-8 text, with quotation marks around values that have "
                "commas, quotation marks or line ends. Fix the row."
            ) from error
        finally:
            lines.detach()
    counts.entities = len(entities)
    if not number:
        raise GraphError(
            f"{path}: found a header but no rows; expected triples. Name another file."
        )


def _split_tabs(lines: Iterable[str]) -> Iterator[_Row]:
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


def _columns(path: Path, header: list[str]) -> dict[str, int]:
    """Where the columns stand."""
    found, places = "", dict[str, int]()
    for place, written in enumerate(header):
        name = _CALLED.get(written.strip().lower())
        if name is None or name in places:
            reason = " twice" if name else f"; known are {', '.join(_CALLED)}"
            found = found or f"the column {written!r}{reason}"
        else:
            places[name] = place
    missing = [name for name in _NEEDED if name not in places]
    if found or missing:
        raise GraphError(
            f"{path}, header: found {found or 'no column ' + ' and no column '.join(missing)}; "
            "expected subject,predicate,object or qid,property,value, and optional "
            f"subject_label, predicate_label, object_label, type ({', '.join(_TYPES)}), unit, "
            "lang. Fix the first line."
        )
    return places


def _row_quads(place: str, cells: Mapping[str, str], labels: set[int]) -> Iterator[Quad]:
    """The triples of a row. `labels` notes which were written, so that each is written once."""

    def is_new(*what: str) -> bool:
        mark = hash(what)
        new = mark not in labels
        labels.add(mark)
        return new

    def called(thing: NamedNode | Literal, label: str) -> Iterator[Quad]:
        from pyoxigraph import NamedNode

        if label and isinstance(thing, NamedNode) and is_new(thing.value, label):
            yield quads.quad(thing, LABEL, quads.text(label))

    if odd := next((name for name, cell in cells.items() if "\0" in cell), None):
        raise _bad(place, odd, "a NUL character", "text without one")
    for name in ("subject", "predicate"):
        if not cells[name]:
            raise _bad(place, name, "nothing", "an id, a name or an address")
    subject = _node(f"{place}, column subject", entity_iri(cells["subject"]))
    yield from called(subject, cells.get("subject_label", ""))
    if not cells["object"]:
        return
    value = _value(place, cells)
    name, label = cells["predicate"], cells.get("predicate_label", "")
    if naming := _NAMES.get(name):
        yield quads.quad(subject, naming, value)
        return
    predicate = _node(f"{place}, column predicate", property_iri(name)).value
    # A property that is written as a name has that for its label.
    if is_new(name, label) and (label or predicate.startswith(OWN_PROPERTY)):
        yield from quads.property_quads(name, label or name)
    yield quads.quad(subject, predicate, value)
    yield from called(value, cells.get("object_label", ""))


def _value(place: str, cells: Mapping[str, str]) -> NamedNode | Literal:
    text, kind, unit = cells["object"], cells.get("type", "").lower(), cells.get("unit", "")
    if kind and kind not in _TYPES:
        raise _bad(place, "type", repr(kind), f"one of {', '.join(_TYPES)}, or nothing")
    if kind == "entity" or (not kind and _ENTITY.fullmatch(text)):
        return _node(f"{place}, column object", entity_iri(text))
    if unit or kind == "quantity":
        return quads.quantity(text, unit)
    if kind == "date" or (not kind and _FULL_DATE.fullmatch(text)):
        if (found := quads.date(text)) is None:
            raise _bad(place, "object", repr(text), "a date: 1871-11-01, 1871-11 or 1871")
        return found
    lang = cells.get("lang", "")
    try:
        return quads.text(text, lang)
    except ValueError:
        raise _bad(place, "lang", repr(lang), "a language tag such as en, or nothing") from None


def _node(where: str, iri: str) -> NamedNode:
    try:
        return quads.node(iri)
    except ValueError as error:
        raise GraphError(
            f"{where}: found {iri!r}, which isn't a valid IRI ({error}); expected an id "
            "such as 'Q42', a name, or a valid address. Fix it."
        ) from error


def _bad(place: str, column: str, found: str, expected: str) -> GraphError:
    return GraphError(f"{place}, column {column}: found {found}; expected {expected}. Fix it.")
