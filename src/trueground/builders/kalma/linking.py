"""Two names → the two entities that are joined by the relation (Li et al. 2024, A.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from trueground.builders.ask import Ask
from trueground.builders.base import Rejected, SourceStep, Stage
from trueground.builders.kalma.choosing import relation_words
from trueground.builders.kalma.items import LinkedPair, SourcePair, grown, read_json_object
from trueground.errors import GraphError, UnreachableError, UsageError
from trueground.graph.base import Entity, KnowledgeGraph, Listed, Queried, name_key
from trueground.graph.rdf import entity_iri, qid_of
from trueground.graph.sparql import iri, is_iri, values
from trueground.records.problems import shorten

# Values are terms that were escaped for themselves; a triple in either direction joins.
_JOINED = (
    "SELECT DISTINCT ?one ?other WHERE {{ {ones} {others} "
    "{{ ?one ?link ?other }} UNION {{ ?other ?link ?one }} }}"
)
_AT_ONCE = 50  # namesakes on one side of a query
_SHOWN = 5
_EXPECTED = '{"relation": ["property of the graph", …], …}'

# --- which edges say the relation


@dataclass(frozen=True)
class Relations:
    """`known` has the properties that a relation may be called by, folded, by the folded relation.

    With `any_edge` every property says every relation.
    """

    known: Mapping[str, Sequence[str]] = field(default_factory=dict)
    any_edge: bool = False

    def align(self, relation: str, name: str) -> bool:
        """Whether a property of this name says the relation: they are equal, or it is mapped."""
        if self.any_edge:
            return True
        asked, found = _folded(relation), _folded(name)
        return found == asked or found in self.known.get(asked, ())


def _folded(relation: str) -> str:
    """Equal for `place of birth`, `Place_of_birth` and `placeOfBirth`."""
    return name_key(" ".join(relation_words(relation)))


def read_relations(path: Path | None, any_edge: bool) -> Relations:
    """The user's map of relations to properties. InputError, UsageError."""
    known = {}
    row = {} if path is None else read_json_object(path, "the map of relations", _EXPECTED)
    for relation, names in row.items():
        several = [names] if isinstance(names, str) else names
        if not isinstance(several, list) or not all(
            isinstance(name, str) and name.strip() for name in several
        ):
            expected = f"expected names of properties, as in {_EXPECTED}"
            raise UsageError(f"the map of relations {path}, {relation!r}: {expected}")
        known[_folded(relation)] = tuple(map(_folded, several))
    return Relations(known, any_edge)


# --- a graph that never answers


class GraphReach:
    """Ends the build where the graph answers for none of the first pairs, before all are rejected.

    Only the first 5 pairs of the source are looked at: a later session that asks again for nothing
    but what failed before may find no answer either, and the graph is well.
    """

    def __init__(self) -> None:
        self._first: frozenset[str] = frozenset()
        self._failed: set[str] = set()
        self._answered = False

    def watch(self, source: SourceStep[SourcePair]) -> SourceStep[SourcePair]:
        """The source, whose first pairs will be known."""

        def read() -> Iterator[SourcePair | Rejected]:
            rows = list(source.read())
            pairs = [one.id for one in rows if isinstance(one, SourcePair)]
            self._first = frozenset(pairs[:5])
            return iter(rows)

        return replace(source, read=read)

    def answered(self) -> None:
        """The graph has said something, and were it that it knows nobody."""
        self._answered = True

    def failed(self, pair: SourcePair, graph: str, detail: str) -> None:
        """It could not answer for a pair. UnreachableError: for none of the first."""
        self._failed.add(pair.id)
        if self._answered or not self._first or not self._first <= self._failed:
            return
        n = len(self._first)
        raise UnreachableError(
            f"the graph {graph} could not answer for the first {f'{n} pairs' if n > 1 else 'pair'},"
            f" and for no other ({detail}). Nothing was asked of a model; see that the address in "
            "--graph answers, and run the same command again"
        )


# --- the two entities


class _Edge(NamedTuple):
    """A property that joins two entities: does the head tell it, and does it name an id?"""

    name: str
    forward: bool
    by_id: bool


class _Joined(NamedTuple):
    head: Entity
    tail: Entity
    edges: Sequence[_Edge]


_Aligned = tuple[_Joined, list[_Edge]]  # with the edges that say the relation


def linking_stage(
    graph: KnowledgeGraph, relations: Relations, types: Sequence[str], reach: GraphReach
) -> Stage[SourcePair, LinkedPair]:
    """Asks the graph for both names, for the pairs that are joined, and for their subgraphs.

    `types` are names or ids of classes, none where entities may be anything. A graph that answers
    SPARQL is asked which of the namesakes are joined; of others every subgraph is read. A graph
    that answers for nobody ends the build: UnreachableError.
    """
    wanted = frozenset(map(name_key, types))

    async def work(pair: SourcePair, _ask: Ask) -> Sequence[LinkedPair]:
        try:
            if isinstance(graph, Listed):  # on this machine: quick, and not for several threads
                found = _link(graph, pair, relations, wanted)
            else:
                found = await asyncio.to_thread(_link, graph, pair, relations, wanted)
        except GraphError as error:
            reach.failed(pair, graph.name, str(error))
            raise Rejected("graph_failed", str(error), transient=True) from error
        except Rejected:
            reach.answered()
            raise
        reach.answered()
        return [found]

    return Stage(
        name="link",
        doc="Find the two entities",
        gives=LinkedPair,
        work=work,
        reasons={
            "name_not_found": "the graph has no entity of that name, or none of the wanted class",
            "no_such_pair": "no two entities of these names are joined",
            "other_relation": "entities of these names are joined, and by no edge of that relation",
            "ambiguous_pair": "several pairs of entities of these names are joined by the relation",
            "graph_failed": "the graph could not answer; the next run asks again",
        },
        identity={
            "graph": graph.signature,
            "types": types,
            "relations": sorted(relations.known.items()),
            "any_edge": relations.any_edge,
        },
    )


def _link(
    graph: KnowledgeGraph, pair: SourcePair, relations: Relations, types: frozenset[str]
) -> LinkedPair:
    """Raises Rejected."""
    namesakes = []
    names = (pair.head, pair.tail)
    for name, some in zip(names, graph.find(names), strict=True):
        fitting = [
            one.qid for one in some if not types or not types.isdisjoint(map(name_key, one.types))
        ]
        if not fitting:
            what = f"none of {len(some)} is of the class" if some else "found none"
            raise Rejected("name_not_found", f"{shorten(name)!r}: {what}")
        namesakes.append(fitting)
    joined = list(_joined(graph, *namesakes))
    if not joined:
        heads, tails = map(_many, namesakes)
        raise Rejected("no_such_pair", f"{heads} and {tails}: no edge between any two")
    aligned = [
        (one, edges)
        for one in joined
        if (edges := [e for e in one.edges if relations.align(pair.relation, e.name)])
    ]
    if not aligned:
        edge_names = dict.fromkeys(edge.name for one in joined for edge in one.edges)
        raise Rejected("other_relation", f"joined by {', '.join(list(edge_names)[:_SHOWN])}")
    one, edges = _only(aligned)
    return grown(
        pair,
        LinkedPair,
        qids=(one.head.qid, one.tail.qid),
        edge=edges[0].name,
        graphs=(one.head.graph(), one.tail.graph()),
    )


def _joined(graph: KnowledgeGraph, heads: Sequence[str], tails: Sequence[str]) -> Iterator[_Joined]:
    """All pairs of two different entities with an edge between them, and these edges."""
    if isinstance(graph, Queried):
        pairs = list(_query_joined(graph, heads, tails))
        wanted = list(dict.fromkeys(qid for pair in pairs for qid in pair))
    else:
        pairs = [(head, tail) for head in heads for tail in tails]
        wanted = list(dict.fromkeys((*heads, *tails)))
    entities = dict(zip(wanted, graph.entities(wanted), strict=True))
    for one, other in pairs:
        head, tail = entities[one], entities[other]
        if head is None or tail is None or one == other:
            continue
        edges = [_Edge(name, True, by_id) for name, by_id in _pointing(head, tail)]
        edges += [_Edge(name, False, by_id) for name, by_id in _pointing(tail, head)]
        if edges:
            yield _Joined(head, tail, edges)


def _query_joined(
    graph: Queried, heads: Sequence[str], tails: Sequence[str]
) -> Iterator[tuple[str, str]]:
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


def _pointing(one: Entity, other: Entity) -> Iterator[tuple[str, bool]]:
    """The properties of one entity that have the other as value: by its id (True), or by a name."""
    names = {name_key(name) for name in (other.name, *other.aliases)} - {""}
    for name, some in one.properties.items():
        if any(value.id == other.qid for value in some):
            yield name, True
        elif any(
            value.id is None and value.kind == "text" and name_key(value.text) in names
            for value in some
        ):
            yield name, False


def _only(aligned: Sequence[_Aligned]) -> _Aligned:
    """The one pair that is meant. Edges by id count before those by name, those that the head tells
    before those that the tail tells; a namesake that is only named must be told by both entities.
    """

    def first(some: Sequence[_Aligned], check: Callable[[_Edge], bool]) -> Sequence[_Aligned]:
        return [one for one in some if any(map(check, one[1]))] or some

    best = first(first(aligned, lambda e: e.by_id), lambda e: e.forward)
    if len(best) > 1 and not any(e.by_id for _, edges in best for e in edges):
        best = [one for one in best if len({e.forward for e in one[0].edges}) == 2] or best
    if len(best) > 1:
        shown = "; ".join(f"{one.head.qid} and {one.tail.qid}" for one, _ in best[:_SHOWN])
        raise Rejected("ambiguous_pair", f"{len(best)} pairs: {shown}")
    return best[0]


def _many(qids: Sequence[str]) -> str:
    more = f" and {len(qids) - _SHOWN} more" if len(qids) > _SHOWN else ""
    return f"{', '.join(qids[:_SHOWN])}{more}"
