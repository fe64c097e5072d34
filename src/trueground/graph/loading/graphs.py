"""Graphs as records hold them: `{"qid", "name", property: value or [values]}`.

They stand in the form of KaLMA's files (`graph.items`), in a JSON array, or one on each line.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from trueground.errors import GraphError
from trueground.graph.items import GRAPH, graph_entries, items
from trueground.graph.loading import terms
from trueground.graph.loading.files import LoadCounts, Loading, reading
from trueground.graph.rdf import ALIAS, entity_iri, property_iri
from trueground.options import Progress

if TYPE_CHECKING:
    from pyoxigraph import NamedNode, Quad

_DATED = ("date_of_birth", "date_of_death")  # KaLMA's names of what is a date


def graph_quads(
    path: Path, _loading: Loading, counts: LoadCounts, _progress: Progress
) -> Iterator[Quad]:
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
                literals = [terms.of_json(value, is_date=name in _DATED) for value in values]
                if name == "name":
                    for number, literal in enumerate(literals):
                        yield terms.quad(subject, ALIAS if number else terms.LABEL, literal)
                elif literals:
                    predicate = _node(f"{place}, field {name!r}", property_iri(name))
                    if name not in named:
                        named.add(name)
                        yield from terms.property_quads(name, name)
                    yield from (terms.quad(subject, predicate.value, one) for one in literals)
    counts.entities = len(qids)
    if not qids:
        raise GraphError(f"{path}: found no graph at all; expected {GRAPH}. Name another file.")


def _node(where: str, iri: str) -> NamedNode:
    try:
        return terms.node(iri)
    except ValueError as error:
        raise GraphError(
            f"{where}: found {iri!r}, an address that is no valid IRI ({error}); expected an id "
            "such as 'Q42', a name, or a valid address. Fix the graph."
        ) from error
