"""Graphs of a JSON file, or of records, in memory."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from trueground.errors import GraphError, InputError
from trueground.graph.base import Entity, NamedEntity, PropertyValue, id_order
from trueground.graph.folding import name_key
from trueground.graph.items import GRAPH, Placed, begins_array, decoded, graph_entries, items
from trueground.graph.loading.files import bare_ending, reading
from trueground.graph.rdf import TYPES, property_iri
from trueground.records.problems import Problem, clean
from trueground.text.triples import format_value
from trueground.types import Graph

_LINES = (".jsonl", ".ndjson")


class JsonGraph:
    """The union of graphs: of one qid, all values of all its graphs, in order of appearance.

    `name` says where it is; `signature` is a checksum of what was read.
    A second name of an entity is an alias. Its classes are the values of "instance of",
    "instance_of", "type" or "P31".
    """

    def __init__(self, entities: Sequence[Entity], *, name: str, signature: str) -> None:
        self._entities = {one.qid: one for one in entities}
        self.name, self.signature = name, signature
        self._found: dict[str, dict[str, NamedEntity]] = {}  # by name, then by id
        for named in self.names():
            self._found.setdefault(name_key(named.text), {}).setdefault(named.qid, named)
        self._found.pop("", None)

    @classmethod
    def of(cls, graphs: Iterable[Graph], *, name: str = "graphs") -> JsonGraph:
        """Graphs as records hold them. GraphError names the one that is none."""
        placed = [_clean(f"{name}, graph {i}", g) for i, g in enumerate(graphs, 1)]
        plain = [graph for _, graph in placed]
        content = json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode()
        return cls(_united(iter(placed)), name=name, signature=_signature(content))

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

    def close(self) -> None:
        """Nothing is open."""


def _signature(content: bytes) -> str:
    return "json:" + hashlib.sha256(content).hexdigest()


def _items(path: Path, content: bytes) -> Placed:
    """What a file holds, with its place. GraphError: what is no JSON."""
    name = str(path)
    try:
        with io.BufferedReader(cast(Any, io.BytesIO(content))) as stream:
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
    return [_entity(qid, list(names[qid]), values[qid]) for qid in names]


def _value(value: str | float) -> PropertyValue:
    if isinstance(value, str):
        return PropertyValue(value)
    return PropertyValue(format_value(value), "other" if isinstance(value, bool) else "quantity")


def _entity(qid: str, names: list[str], values: dict[str, dict[PropertyValue, None]]) -> Entity:
    types = (v.text for p, vs in values.items() if property_iri(p) in TYPES for v in vs)
    return Entity(
        qid=qid,
        name=names[0] if names else qid,
        properties={name: tuple(some) for name, some in values.items()},
        aliases=tuple(names[1:]),
        types=tuple(dict.fromkeys(types)),
    )
