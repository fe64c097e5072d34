"""Graphs of a JSON file, or of records, in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from trueground.errors import GraphError
from trueground.graph.base import Entity, Named, Value, id_order, name_key
from trueground.text.citations.triples import plain_property, value_text
from trueground.types import Graph

_TYPES = ("instance of", "type")
_EXPECTED = 'a graph such as {"qid": "Q90", "name": "Paris", "country": "France"}'
_KALMA = "[question, [graph, …]]"


class JsonGraph:
    """The union of graphs: of one qid, all values of all its graphs, in order of appearance.

    A second name of an entity is an alias. Its classes are the values of "instance of" or "type".
    """

    def __init__(self, entities: Sequence[Entity], *, name: str, signature: str) -> None:
        self._entities = {one.qid: one for one in entities}
        self._name, self._signature = name, signature
        self._found: dict[str, list[Named]] = {}
        for named in self.names():
            same = self._found.setdefault(name_key(named.text), [])
            if all(one.qid != named.qid for one in same):
                same.append(named)
        self._found.pop("", None)

    @classmethod
    def of(cls, graphs: Iterable[Graph], *, name: str = "graphs") -> JsonGraph:
        """Graphs as records hold them. GraphError names the one that is none."""
        listed = list(graphs)
        entities = _united((f"{name}, graph {i}", g) for i, g in enumerate(listed, 1))
        content = orjson.dumps(listed, option=orjson.OPT_NON_STR_KEYS)
        return cls(entities, name=name, signature=_signature(content))

    @classmethod
    def read(cls, path: Path) -> JsonGraph:
        """A file: a list of graphs, `[[question, [graph, …]], …]`, or .jsonl with a graph a line.

        GraphError names the place of what is none of these.
        """
        try:
            content = path.read_bytes()
        except OSError as error:
            raise GraphError(
                f"{path} cannot be read: {error.strerror or error}. Name a file of graphs"
            ) from error
        placed = (
            _lines(path, content) if path.suffix.lower() == ".jsonl" else _listed(path, content)
        )
        return cls(_united(placed), name=str(path), signature=_signature(content))

    @property
    def name(self) -> str:
        """Where it is."""
        return self._name

    @property
    def signature(self) -> str:
        """A checksum of the file."""
        return self._signature

    def find(self, names: Sequence[str]) -> list[list[Named]]:
        """For each name the entities that have it, by id."""
        return [list(self._found.get(name_key(name), ())) for name in names]

    def entities(self, qids: Sequence[str]) -> list[Entity | None]:
        """For each id its entity; None where there is none."""
        return [self._entities.get(qid) for qid in qids]

    def names(self) -> Iterator[Named]:
        """Every name and alias, by id; the name of an entity comes before its aliases."""
        for qid in sorted(self._entities, key=id_order):
            entity = self._entities[qid]
            for text in (entity.name, *entity.aliases):
                yield Named(text, qid, entity.types)

    def close(self) -> None:
        """Nothing is open."""


def _signature(content: bytes) -> str:
    return "json:" + hashlib.sha256(content).hexdigest()


def _listed(path: Path, content: bytes) -> Iterator[tuple[str, Any]]:
    """Every graph of a JSON file with its place."""
    entries = _decoded(content, str(path))
    if isinstance(entries, dict):
        entries = [entries]
    if not isinstance(entries, list):
        raise _wrong(str(path), entries, f"a list of graphs, or of {_KALMA}")
    for number, entry in enumerate(entries, 1):
        where = f"{path}, entry {number}"
        if not isinstance(entry, list):
            yield where, entry
            continue
        if len(entry) != 2 or not isinstance(entry[0], str) or not isinstance(entry[1], list):
            raise _wrong(where, entry, _KALMA)
        for i, graph in enumerate(entry[1], 1):
            yield f"{where}, graph {i}", graph


def _lines(path: Path, content: bytes) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.strip():
            where = f"{path}, line {number}"
            yield where, _decoded(line, where)


def _decoded(content: bytes, where: str) -> Any:
    try:
        return orjson.loads(content.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise GraphError(
            f"{where}: found what is no JSON ({error}); expected {_EXPECTED}. Mend the file"
        ) from None


def _united(placed: Iterable[tuple[str, Any]]) -> list[Entity]:
    names: dict[str, dict[str, None]] = {}
    values: dict[str, dict[str, dict[Value, None]]] = {}
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


def _entity(qid: str, names: list[str], values: dict[str, dict[Value, None]]) -> Entity:
    types = (v.text for p, vs in values.items() if plain_property(p) in _TYPES for v in vs)
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
        raise GraphError(f'{where}: found {found}; expected a str such as "Q90". Mend the entry')
    return qid


def _values(value: Any, where: str) -> Iterator[Value]:
    """The values of a property; null and blank texts are none."""
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, bool):
            yield Value(value_text(one), "other")
        elif isinstance(one, int | float):
            yield Value(value_text(one), "quantity")
        elif isinstance(one, str):
            if one.strip():
                yield Value(one)
        elif one is not None:
            raise _wrong(where, one, "a text, a number, true, false, or a list of these")


def _wrong(where: str, found: Any, expected: str) -> GraphError:
    return GraphError(f"{where}: found {_shown(found)}; expected {expected}. Mend the entry")


def _shown(value: Any) -> str:
    text = orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    return text if len(text) <= 60 else text[:59] + "…"
