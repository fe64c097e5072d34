"""Graphs as records hold them: `{"qid", "name", property: value or [values]}`.

They stand in the form of KaLMA's files (`graph.items`), in a JSON array, or one on each line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueground.errors import GraphError
from trueground.graph.items import PAIR, Placed, graphs_of_pair, items
from trueground.graph.loading import terms
from trueground.graph.loading.base import LoadCounts, Loading
from trueground.graph.loading.streams import reading
from trueground.graph.rdf import ALIAS
from trueground.options import Progress
from trueground.records.problems import describe

if TYPE_CHECKING:
    from pyoxigraph import Literal, NamedNode, Quad

_GRAPH = 'a graph such as {"qid": "Q42", "name": "…", "occupation": ["…", "…"]}'
_DATED = ("date_of_birth", "date_of_death")  # KaLMA's names of what is a date


def kalma_quads(
    path: Path, _loading: Loading, counts: LoadCounts, _progress: Progress
) -> Iterator[Quad]:
    """The graphs of all questions, each once. GraphError names the entry that is none."""
    pairs = _items(path, PAIR)
    graphs = (one for place, item in pairs for one in graphs_of_pair(place, item))
    yield from _quads(path, graphs, counts)


def graph_quads(
    path: Path, _loading: Loading, counts: LoadCounts, _progress: Progress
) -> Iterator[Quad]:
    """A list of graphs, or one on each line. GraphError names the entry that is none."""
    yield from _quads(path, _items(path, _GRAPH), counts)


def _quads(path: Path, placed: Placed, counts: LoadCounts) -> Iterator[Quad]:
    named: set[str] = set()
    seen: set[int] = set()
    qids: set[str] = set()
    for place, graph in placed:
        if not isinstance(graph, dict):
            raise _no_graph(place, describe(graph))
        if (mark := hash(repr(graph))) in seen:
            continue
        seen.add(mark)
        qid = graph.get("qid")
        if not isinstance(qid, str) or not qid.strip():
            raise _no_graph(f"{place}, field 'qid'", describe(qid))
        qids.add(qid)
        yield from _of_graph(place, qid, graph, named)
    counts.entities = len(qids)
    if not qids:
        raise GraphError(f"{path}: found no graph at all; expected {_GRAPH}. Name another file.")


def _of_graph(place: str, qid: str, graph: dict[str, Any], named: set[str]) -> Iterator[Quad]:
    from pyoxigraph import Quad

    subject = _made(f"{place}, field 'qid'", terms.entity, qid)
    for name, found in graph.items():
        if name == "qid":
            continue
        where = f"{place}, field {name!r}"
        values = [v for v in _literals(where, name, found) if v.value.strip()]
        if name == "name":
            label, alias = terms.node(terms.LABEL), terms.node(ALIAS)
            yield from (Quad(subject, alias if n else label, v) for n, v in enumerate(values))
        elif values:
            predicate = _made(where, terms.property_node, name)
            if name not in named:
                named.add(name)
                yield from terms.property_quads(name, name)
            yield from (Quad(subject, predicate, value) for value in values)


def _literals(where: str, name: str, found: Any) -> Iterator[Literal]:
    for value in found if isinstance(found, list) else [found]:
        if value is None:
            continue
        literal = terms.of_json(value)
        if literal is None and isinstance(value, str):
            literal = terms.date(value) if name in _DATED else None
            literal = literal or terms.text(value)
        if literal is None:
            raise GraphError(
                f"{where}: found {describe(value)}; expected a text, a number, true or false, or "
                "a list of these. Fix the graph."
            )
        yield literal


def _made(where: str, make: Callable[[str], NamedNode], name: str) -> NamedNode:
    try:
        return make(name)
    except ValueError as error:
        raise GraphError(
            f"{where}: found {name!r}, an address that is no valid IRI ({error}); expected an id "
            "such as 'Q42', a name, or a valid address. Fix the graph."
        ) from error


def _items(path: Path, expected: str) -> Placed:
    with reading(path) as stream:
        yield from items(stream, str(path), expected)


def _no_graph(place: str, found: str) -> GraphError:
    return GraphError(f"{place}: found {found}; expected {_GRAPH}. Fix the file.")
