"""Two names → the two entities that are joined by the relation (Li et al. 2024, A.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from trueground.builders.ask import Ask
from trueground.builders.base import Stage
from trueground.builders.kalma.items import LinkedPair, SourcePair, grown
from trueground.builders.kalma.reaching import Reach
from trueground.builders.kalma.relations import Relations
from trueground.builders.rejected import Rejected
from trueground.errors import GraphError
from trueground.graph.base import (
    Entity,
    KnowledgeGraph,
    Listed,
    NamedEntity,
    PropertyValue,
    Queried,
)
from trueground.graph.folding import name_key
from trueground.graph.rdf import entity_iri, qid_of
from trueground.graph.sparql import iri, is_iri, values
from trueground.records.problems import shorten

REASONS = {
    "name_not_found": "the graph has no entity of that name, or none of the wanted class",
    "no_such_pair": "no two entities of these names are joined",
    "other_relation": "entities of these names are joined, and by no edge of that relation",
    "ambiguous_pair": "several pairs of entities of these names are joined by the relation",
    "graph_failed": "the graph could not answer; the next run asks again",
}
# Values are terms that were escaped for themselves; a triple in either direction joins.
_JOINED = (
    "SELECT DISTINCT ?one ?other WHERE {{ {ones} {others} "
    "{{ ?one ?link ?other }} UNION {{ ?other ?link ?one }} }}"
)
_AT_ONCE = 50  # namesakes on one side of a query
_SHOWN = 5


class Edge(NamedTuple):
    """An edge between two entities: the property, and whether the first of them tells it."""

    name: str
    forward: bool
    by_id: bool


class _Joined(NamedTuple):
    head: Entity
    tail: Entity
    edges: Sequence[Edge]


def make_linking(
    graph: KnowledgeGraph,
    relations: Relations,
    types: Sequence[str],
    reach: Reach | None = None,
) -> Stage[SourcePair, LinkedPair]:
    """Asks the graph for both names, for the pairs that are joined, and for their subgraphs.

    A graph that answers SPARQL is asked which of the namesakes are joined; of others every subgraph
    is read. A graph that answers for nobody ends the build (`reach`): UnreachableError.
    """
    reach = reach or Reach()

    async def work(pair: SourcePair, _ask: Ask) -> Sequence[LinkedPair]:
        try:
            found = await look(pair)
        except GraphError as error:
            reach.failed(pair, graph.name, str(error))
            raise Rejected("graph_failed", str(error), transient=True) from error
        reach.answered()
        if isinstance(found, Rejected):
            raise found
        return [found]

    async def look(pair: SourcePair) -> LinkedPair | Rejected:
        given = (graph, pair, relations, types)
        try:
            if isinstance(graph, Listed):  # on this machine: quick, and not for several threads
                return _linked(*given)
            return await asyncio.to_thread(_linked, *given)
        except Rejected as rejected:
            return rejected

    identity = {
        "graph": graph.signature,
        "types": types,
        "relations": sorted(relations.known.items()),
        "any_edge": relations.any_edge,
    }
    return Stage("link", "Find the two entities", SourcePair, LinkedPair, work, REASONS, identity)


def _linked(
    graph: KnowledgeGraph, pair: SourcePair, relations: Relations, types: Sequence[str]
) -> LinkedPair:
    heads, tails = _namesakes(graph, pair, types)
    joined = list(_joined(graph, heads, tails))
    if not joined:
        raise Rejected(
            "no_such_pair", f"{_many(heads)} and {_many(tails)}: no edge between any two"
        )
    aligned = [
        (one, edges)
        for one in joined
        if (edges := [e for e in one.edges if relations.align(pair.relation, e.name)])
    ]
    if not aligned:
        names = dict.fromkeys(edge.name for one in joined for edge in one.edges)
        raise Rejected("other_relation", f"joined by {', '.join(list(names)[:_SHOWN])}")
    one, edges = _only(aligned)
    return grown(
        pair,
        LinkedPair,
        qids=(one.head.qid, one.tail.qid),
        edge=edges[0].name,
        graphs=(one.head.graph(), one.tail.graph()),
    )


def _namesakes(
    graph: KnowledgeGraph, pair: SourcePair, types: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The ids of all that have the names, of the classes wanted."""
    found = []
    names = (pair.head, pair.tail)
    for name, some in zip(names, graph.find(names), strict=True):
        fitting = [one.qid for one in some if _fits(one, types)]
        if not fitting:
            what = f"none of {len(some)} is of the class" if some else "found none"
            raise Rejected("name_not_found", f"{shorten(name)!r}: {what}")
        found.append(fitting)
    return found[0], found[1]


def _fits(named: NamedEntity, types: Sequence[str]) -> bool:
    wanted = {name_key(one) for one in types}
    return not wanted or any(name_key(one) in wanted for one in named.types)


def _joined(graph: KnowledgeGraph, heads: Sequence[str], tails: Sequence[str]) -> Iterator[_Joined]:
    """All pairs of two different entities with an edge between them, and these edges."""
    if isinstance(graph, Queried):
        pairs = list(_asked(graph, heads, tails))
        wanted = list(dict.fromkeys(qid for pair in pairs for qid in pair))
    else:
        pairs = [(head, tail) for head in heads for tail in tails]
        wanted = list(dict.fromkeys((*heads, *tails)))
    entities = dict(zip(wanted, graph.entities(wanted), strict=True))
    for one, other in pairs:
        head, tail = entities[one], entities[other]
        if head is None or tail is None or one == other:
            continue
        if edges := _edges(head, tail):
            yield _Joined(head, tail, edges)


def _asked(graph: Queried, heads: Sequence[str], tails: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The pairs that the graph calls joined, in the order of the names' ids; no stranger's."""
    rank_of_head, rank_of_tail = ({qid: n for n, qid in enumerate(ids)} for ids in (heads, tails))
    others = [iri(one) for one in map(entity_iri, tails) if is_iri(one)]
    for low in range(0, len(heads), _AT_ONCE):
        ones = [iri(one) for one in map(entity_iri, heads[low : low + _AT_ONCE]) if is_iri(one)]
        if not ones or not others:
            continue
        text = _JOINED.format(ones=values("one", ones), others=values("other", others))
        rows = [(row.get("one"), row.get("other")) for row in graph.query(text)]
        found = {(qid_of(one), qid_of(other)) for one, other in rows if one and other}
        asked = [two for two in found if two[0] in rank_of_head and two[1] in rank_of_tail]
        yield from sorted(asked, key=lambda two: (rank_of_head[two[0]], rank_of_tail[two[1]]))


def _edges(head: Entity, tail: Entity) -> list[Edge]:
    forward = [Edge(name, True, by_id) for name, by_id in _pointing(head, tail)]
    return forward + [Edge(name, False, by_id) for name, by_id in _pointing(tail, head)]


def _pointing(one: Entity, other: Entity) -> Iterator[tuple[str, bool]]:
    """The properties of one entity that have the other as value, by its id or by a name."""
    names = {name_key(name) for name in (other.name, *other.aliases)} - {""}
    for name, some in one.properties.items():
        if any(value.id == other.qid for value in some):
            yield name, True
        elif any(_names(value, names) for value in some):
            yield name, False


def _names(value: PropertyValue, names: set[str]) -> bool:
    return value.id is None and value.kind == "text" and name_key(value.text) in names


def _only(aligned: Sequence[tuple[_Joined, list[Edge]]]) -> tuple[_Joined, list[Edge]]:
    """The one pair that is meant. Edges by id count before those by name, those that the head tells
    before those that the tail tells; a namesake that is only named must be told by both entities.
    """
    best = _first_of(aligned, lambda edges: any(e.by_id for e in edges))
    best = _first_of(best, lambda edges: any(e.forward for e in edges))
    if len(best) > 1 and not any(e.by_id for _, edges in best for e in edges):
        best = [b for b in best if len({e.forward for e in b[0].edges}) == 2] or best
    if len(best) > 1:
        shown = "; ".join(f"{one.head.qid} and {one.tail.qid}" for one, _ in best[:_SHOWN])
        raise Rejected("ambiguous_pair", f"{len(best)} pairs: {shown}")
    return best[0]


def _first_of(
    some: Sequence[tuple[_Joined, list[Edge]]], check: Callable[[list[Edge]], bool]
) -> list[tuple[_Joined, list[Edge]]]:
    """Those whose edges are so, if there are any; else all."""
    return [one for one in some if check(one[1])] or list(some)


def _many(qids: Sequence[str]) -> str:
    more = f" and {len(qids) - _SHOWN} more" if len(qids) > _SHOWN else ""
    return f"{', '.join(qids[:_SHOWN])}{more}"
