"""Graphs of a JSON file, or of records, in memory.

KaLMA's published files are `[[question, [graph, …]], …]` (its section 3.2).
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from trueground.errors import GraphError, InputError
from trueground.records import DataStream, Problem, clean, decode, describe
from trueground.types import Graph
from trueground.wings.graphs.base import Entity, NamedEntity, PropertyValue, id_order
from trueground.wings.graphs.loading import bare_ending, reading
from trueground.wings.graphs.names import name_key
from trueground.wings.graphs.rdf import TYPES, property_iri

PAIR = "[question, [graph, …]]"
GRAPH = 'a graph such as {"qid": "Q42", "name": "…", "occupation": ["…", "…"]}'
Placed = Iterator[tuple[str, Any]]


def items(stream: DataStream, name: str, expected: str) -> Placed:
    """The elements of a JSON array, or the values of JSON lines; `expected` says what they are.

    InputError: what is no JSON, with its place.
    """
    in_array = begins_array(stream)
    for number, text in stream.values(in_array=in_array):
        place = f"{name}, {'entry' if in_array else 'line'} {number}"
        yield place, decoded(place, text, expected)


def array_items(stream: DataStream, name: str, expected: str) -> Placed | None:
    """Return the elements of a JSON array, with their places. None if the stream has no array.

    Raises InputError when an element is read that isn't JSON.
    """
    return items(stream, name, expected) if begins_array(stream) else None


def begins_array(stream: io.BufferedReader) -> bool:
    """Whether the first sign is that of an array. Nothing is taken from the stream."""
    return stream.peek(1)[:1] == b"[" or stream.peek(1 << 12).lstrip()[:1] == b"["


def decoded(place: str, text: bytes | Problem, expected: str) -> Any:
    """A JSON value. InputError."""
    try:
        if isinstance(text, Problem):
            raise text
        return decode(text, expected)
    except Problem as problem:
        raise InputError(
            f"{place}: found {problem.found}; expected {problem.expected}. Fix the file"
        ) from None


def graph_entries(placed: Placed) -> Iterator[tuple[str, str, dict[str, list[Any]]]]:
    """(place, qid, values by property) of each graph; an item is one, or `[question, [graph, …]]`.

    Null and blank texts are no values. GraphError: it is neither, or holds what no graph may.
    """
    for place, item in placed:
        for where, graph in (
            _graphs_of_pair(place, item) if isinstance(item, list) else [(place, item)]
        ):
            if not isinstance(graph, dict):
                raise _no_graph(where, graph, GRAPH)
            qid = graph.get("qid")
            if not isinstance(qid, str) or not qid.strip():
                raise _no_graph(f"{where}, field 'qid'", qid, GRAPH)
            values: dict[str, list[Any]] = {}
            for name, found in graph.items():
                some = found if isinstance(found, list) else [found]
                if name != "qid":
                    values[name] = [one for one in some if one is not None and str(one).strip()]
                for one in values.get(name, ()):
                    if not isinstance(one, str | int | float):
                        expected = "a text, a number, true or false, or a list of these"
                        raise _no_graph(f"{where}, field {name!r}", one, expected)
            yield where, qid, values


def _graphs_of_pair(place: str, item: list[Any]) -> Placed:
    if len(item) != 2:
        raise _no_graph(place, item, f"{PAIR}, or a graph")
    question, graphs = item
    if not isinstance(question, str):
        raise _no_graph(f"{place}, question", question, "a text")
    if not isinstance(graphs, list):
        raise _no_graph(place, graphs, "a list of graphs")
    for number, graph in enumerate(graphs, 1):
        yield f"{place}, graph {number}", graph


def _no_graph(place: str, found: Any, expected: str) -> GraphError:
    return GraphError(f"{place}: found {describe(found)}; expected {expected}. Fix the entry")


_LINES = (".jsonl", ".ndjson")


class JsonGraph:
    """The union of graphs: of one qid, all values of all its graphs, in order of appearance.

    `name` says where it is; `signature` is a checksum of what was read.
    A second name of an entity is an alias. Its classes are the values of "instance of",
    "instance_of", "type" or "P31".
    """

    is_local = True

    def __init__(self, entities: Sequence[Entity], *, name: str, signature: str) -> None:
        self._entities = {one.qid: one for one in entities}
        self.name, self.signature = name, signature
        self._found: dict[str, dict[str, NamedEntity]] = {}  # by name, then by id
        for named in self.names():
            self._found.setdefault(name_key(named.text), {}).setdefault(named.qid, named)
        self._found.pop("", None)

    @classmethod
    def of(cls, graphs: Iterable[Graph]) -> JsonGraph:
        """Graphs as records hold them. GraphError names the one that is none."""
        placed = [_clean(f"graphs, graph {i}", g) for i, g in enumerate(graphs, 1)]
        plain = [graph for _, graph in placed]
        content = json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode()
        return cls(_united(iter(placed)), name="graphs", signature=_signature(content))

    @classmethod
    def read(cls, path: Path) -> JsonGraph:
        """A file: a list of graphs, `[[question, [graph, …]], …]`, or .jsonl with a graph a line.

        It may be packed. GraphError names the place of what is none of these.
        """
        with reading(path) as stream:
            content = stream.read()
        united = _united(_items(path, content))
        return cls(united, name=str(path), signature=_signature(content))

    def find(self, names: Sequence[str]) -> list[list[NamedEntity]]:
        """For each name the entities that have it, by id."""
        return [list(self._found.get(name_key(name), {}).values()) for name in names]

    def entities(self, qids: Sequence[str]) -> list[Entity | None]:
        """For each id its entity; None where there is none."""
        return [self._entities.get(qid) for qid in qids]

    def names(self) -> Iterator[NamedEntity]:
        """Every name and alias, by id; the name of an entity comes before its aliases."""
        for qid in sorted(self._entities, key=id_order):
            entity = self._entities[qid]
            for text in (entity.name, *entity.aliases):
                yield NamedEntity(text, qid, entity.types)

    def find_joined(self, heads: Sequence[str], tails: Sequence[str]) -> list[tuple[str, str]]:
        """Return all pairs of ids, one of each side."""
        return [(head, tail) for head in heads for tail in tails]

    def close(self) -> None:
        """Nothing is open."""


def _signature(content: bytes) -> str:
    return "json:" + hashlib.sha256(content).hexdigest()


def _items(path: Path, content: bytes) -> Placed:
    """What a file holds, with its place. GraphError: what is no JSON."""
    name = str(path)
    try:
        with DataStream(io.BytesIO(content), name) as stream:
            if bare_ending(path) in _LINES or begins_array(stream):
                yield from items(stream, name, GRAPH)
            else:
                yield name, decoded(name, content, GRAPH)
    except InputError as error:
        raise GraphError(str(error)) from error


def _clean(where: str, graph: Any) -> tuple[str, Any]:
    try:
        return where, clean(graph)
    except RecursionError:
        raise GraphError(f"{where}: found lists in lists without end; expected {GRAPH}") from None
    except Problem as problem:
        place = f"{where}, field {problem.field!r}" if problem.field else where
        raise GraphError(
            f"{place}: found {problem.found}; expected {problem.expected}. Fix the entry"
        ) from None


def _united(placed: Placed) -> list[Entity]:
    names: dict[str, dict[str, None]] = {}
    values: dict[str, dict[str, dict[PropertyValue, None]]] = {}
    for _, qid, graph in graph_entries(placed):
        own = names.setdefault(qid, {})
        properties = values.setdefault(qid, {})
        for name, found in graph.items():
            for one in map(_value, found):
                if name == "name":
                    own[one.text] = None
                else:
                    properties.setdefault(name, {})[one] = None
    return [
        Entity(
            qid=qid,
            name=next(iter(own), qid),
            properties={name: tuple(some) for name, some in values[qid].items()},
            aliases=tuple(own)[1:],
            types=tuple(
                dict.fromkeys(
                    value.text
                    for name, some in values[qid].items()
                    if property_iri(name) in TYPES
                    for value in some
                )
            ),
        )
        for qid, own in names.items()
    ]


def _value(value: str | float) -> PropertyValue:
    if isinstance(value, str):
        return PropertyValue(value)
    if isinstance(value, bool):
        return PropertyValue(str(value).lower(), "other")
    return PropertyValue(str(value), "quantity")
