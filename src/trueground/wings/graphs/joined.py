"""Which of several namesakes are joined by an edge of a knowledge graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trueground.wings.graphs.base import Queried
from trueground.wings.graphs.rdf import entity_iri, qid_of
from trueground.wings.graphs.sparql import iri, is_iri, values

# Values are terms that were escaped for themselves; a triple in either direction joins.
_JOINED = (
    "SELECT DISTINCT ?one ?other WHERE {{ {ones} {others} "
    "{{ ?one ?link ?other }} UNION {{ ?other ?link ?one }} }}"
)
_IDS_PER_QUERY = 50  # on one side


def query_joined(
    graph: Queried, heads: Sequence[str], tails: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield the pairs that the graph calls joined, in the order of the ids; no other entities.

    Raises:
        GraphError: The graph can't be queried.
    """
    rank_of_head = {qid: rank for rank, qid in enumerate(heads)}
    rank_of_tail = {qid: rank for rank, qid in enumerate(tails)}
    others = _terms(tails)
    for low in range(0, len(heads), _IDS_PER_QUERY):
        ones = _terms(heads[low : low + _IDS_PER_QUERY])
        if not ones or not others:
            continue
        query = _JOINED.format(ones=values("one", ones), others=values("other", others))
        rows = [(row.get("one"), row.get("other")) for row in graph.query(query)]
        found = {(qid_of(one), qid_of(other)) for one, other in rows if one and other}
        pairs = [pair for pair in found if pair[0] in rank_of_head and pair[1] in rank_of_tail]
        yield from sorted(pairs, key=lambda pair: (rank_of_head[pair[0]], rank_of_tail[pair[1]]))


def _terms(qids: Sequence[str]) -> list[str]:
    """The ids as terms of SPARQL, without those that can't be addresses."""
    return [iri(address) for address in map(entity_iri, qids) if is_iri(address)]
