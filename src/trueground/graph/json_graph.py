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
from trueground.graph.items import Placed, begins_array, decoded, graphs_of_pair, items
from trueground.graph.loading.files import bare_ending, reading
from trueground.graph.rdf import TYPES, property_iri
from trueground.records.problems import Problem, clean, shorten
from trueground.text.triples import format_value
from trueground.types import Graph

_LINES = (".jsonl", ".ndjson")
_EXPECTED = 'a graph such as {"qid": "Q90", "name": "Paris", "country": "France"}'


class JsonGraph:
    """The union of graphs: of one qid, all values of all its graphs, in order of appearance.

    A second name of an entity is an alias. Its classes are the values of "instance of",
    "instance_of", "type" or "P31".
    """

    def __init__(self, entities: Sequence[Entity], *, name: str, signature: str) -> None:
        self._entities = {one.qid: one for one in entities}
        self._name, self._signature = name, signature
        self._found: dict[str, dict[str, NamedEntity]] = {}  # by name, then by id
        for named in self.names():
            self._found.setdefault(name_key(named.text), {}).setdefault(named.qid, named)
        self._found.pop("", None)

    @classmethod
    def of(cls, graphs: Iterable[Graph], *, name: str = "graphs") -> JsonGraph:
        """Graphs as records hold them. GraphError names the one that is none."""
        placed = [_cleaned(f"{name}, graph {i}", g) for i, g in enumerate(graphs, 1)]
        content = _json([graph for _, graph in placed]).encode()
        return cls(_united(placed), name=name, signature=_signature(content))

    @classmethod
    def read(cls, path: Path) -> JsonGraph:
        """A file: a list of graphs, `[[question, [graph, …]], …]`, or .jsonl with a graph a line.

        It may be packed. GraphError names the place of what is none of these.
        """
        with reading(path) as stream:
            content = stream.read()
        united = _united(_placed(path, content))
        return cls(united, name=str(path), signature=_signature(content))

    @property
    def name(self) -> str:
        """Where it is."""
        return self._name

    @property
    def signature(self) -> str:
        """A checksum of the file."""
        return self._signature

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


def _placed(path: Path, content: bytes) -> Placed:
    """Every graph of a file with its place. GraphError: what is no JSON."""
    name = str(path)
    try:
        with io.BufferedReader(cast(Any, io.BytesIO(content))) as stream:
            if bare_ending(path) not in _LINES and not begins_array(stream):
                yield name, decoded(name, content, _EXPECTED)
                return
            for place, item in items(stream, name, _EXPECTED):
                if isinstance(item, list):
                    yield from graphs_of_pair(place, item)
                else:
                    yield place, item
    except InputError as error:
        raise GraphError(str(error)) from error


def _cleaned(where: str, graph: Any) -> tuple[str, Any]:
    try:
        return where, clean(graph)
    except RecursionError:
        raise GraphError(
            f"{where}: found lists in lists without end; expected {_EXPECTED}"
        ) from None
    except Problem as problem:
        place = f"{where}, {problem.field!r}" if problem.field else where
        raise GraphError(
            f"{place}: found {problem.found}; expected {problem.expected}. Fix the entry"
        ) from None


def _united(placed: Iterable[tuple[str, Any]]) -> list[Entity]:
    names: dict[str, dict[str, None]] = {}
    values: dict[str, dict[str, dict[PropertyValue, None]]] = {}
    for where, graph in placed:
        qid = _qid(graph, where)
        own = names.setdefault(qid, {})
        properties = values.setdefault(qid, {})
        for name, value in graph.items():
            if name == "qid":
                continue
            for one in _values(value, f"{where} ({qid}), {name!r}"):
                if name == "name":
                    own[one.text] = None
                else:
                    properties.setdefault(name, {})[one] = None
    return [_entity(qid, list(names[qid]), values[qid]) for qid in names]


def _entity(qid: str, names: list[str], values: dict[str, dict[PropertyValue, None]]) -> Entity:
    types = (v.text for p, vs in values.items() if property_iri(p) in TYPES for v in vs)
    return Entity(
        qid=qid,
        name=names[0] if names else qid,
        properties={name: tuple(some) for name, some in values.items()},
        aliases=tuple(names[1:]),
        types=tuple(dict.fromkeys(types)),
    )


def _qid(graph: Any, where: str) -> str:
    if not isinstance(graph, dict):
        raise _wrong(where, graph, _EXPECTED)
    qid = graph.get("qid")
    if not isinstance(qid, str) or not qid.strip():
        found = f"qid {_shown(qid)}" if "qid" in graph else f"no qid in {_shown(graph)}"
        raise GraphError(f'{where}: found {found}; expected a str such as "Q90". Fix the entry')
    return qid


def _values(value: Any, where: str) -> Iterator[PropertyValue]:
    """The values of a property; null and blank texts are none."""
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, bool):
            yield PropertyValue(format_value(one), "other")
        elif isinstance(one, int | float):
            yield PropertyValue(format_value(one), "quantity")
        elif isinstance(one, str):
            if one.strip():
                yield PropertyValue(one)
        elif one is not None:
            raise _wrong(where, one, "a text, a number, true, false, or a list of these")


def _wrong(where: str, found: Any, expected: str) -> GraphError:
    return GraphError(f"{where}: found {_shown(found)}; expected {expected}. Fix the entry")


def _shown(value: Any) -> str:
    return shorten(_json(value))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
