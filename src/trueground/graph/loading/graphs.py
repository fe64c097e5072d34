"""Graphs as records hold them: `{"qid", "name", property: value or [values]}`.

They stand in the form of KaLMA's files (`graph.items`), in a JSON array, or one on each line.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueground.errors import GraphError
from trueground.graph.items import PAIR, Placed, graphs_of_pair, items
from trueground.graph.loading import terms
from trueground.graph.loading.files import LoadCounts, Loading, reading
from trueground.graph.rdf import ALIAS, entity_iri, property_iri
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
    with reading(path) as stream:
        pairs = items(stream, str(path), PAIR)
        graphs = (one for place, item in pairs for one in graphs_of_pair(place, item))
        yield from _quads(path, graphs, counts)


def graph_quads(
    path: Path, _loading: Loading, counts: LoadCounts, _progress: Progress
) -> Iterator[Quad]:
    """A list of graphs, or one on each line. GraphError names the entry that is none."""
    with reading(path) as stream:
        yield from _quads(path, items(stream, str(path), _GRAPH), counts)


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
        subject = _node(f"{place}, field 'qid'", entity_iri(qid))
        for name, found in graph.items():
            if name == "qid":
                continue
            where = f"{place}, field {name!r}"
            values = [v for v in _literals(where, name, found) if v.value.strip()]
            if name == "name":
                for n, value in enumerate(values):
                    yield terms.quad(subject, ALIAS if n else terms.LABEL, value)
            elif values:
                predicate = _node(where, property_iri(name))
                if name not in named:
                    named.add(name)
                    yield from terms.property_quads(name, name)
                yield from (terms.quad(subject, predicate.value, value) for value in values)
    counts.entities = len(qids)
    if not qids:
        raise GraphError(f"{path}: found no graph at all; expected {_GRAPH}. Name another file.")


def _literals(where: str, name: str, found: Any) -> Iterator[Literal]:
    for value in found if isinstance(found, list) else [found]:
        literal = terms.of_json(value, is_date=name in _DATED)
        if literal is not None:
            yield literal
        elif value is not None:
            raise GraphError(
                f"{where}: found {describe(value)}; expected a text, a number, true or false, or "
                "a list of these. Fix the graph."
            )


def _node(where: str, iri: str) -> NamedNode:
    try:
        return terms.node(iri)
    except ValueError as error:
        raise GraphError(
            f"{where}: found {iri!r}, an address that is no valid IRI ({error}); expected an id "
            "such as 'Q42', a name, or a valid address. Fix the graph."
        ) from error


def _no_graph(place: str, found: str) -> GraphError:
    return GraphError(f"{place}: found {found}; expected {_GRAPH}. Fix the file.")
