"""The user's rows → pairs of names → the two entities behind them (Li et al. 2024, A.1, A.2)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from trueground.errors import GraphError, UsageError
from trueground.records import describe, shorten
from trueground.text import CitedText, plain
from trueground.types import Graph
from trueground.wings.graphs import KnowledgeGraph, name_key
from trueground.wings.papers.builders.base import Rejected, SourceStep, Stage
from trueground.wings.papers.builders.client import ModelClient
from trueground.wings.papers.builders.kalma.items import LinkedPair, SourcePair, grown
from trueground.wings.papers.builders.kalma.wording import relation_words
from trueground.wings.papers.builders.rows import (
    SourceRow,
    UnusableRow,
    check_rows,
    check_text,
    source_rows,
)
from trueground.wings.papers.user_files import read_entries

_SHOWN = 5
_MAP = '{"relation": ["property of the graph", …], …}'
# Under which names a field may stand; the first that is there counts.
FIELDS: Mapping[str, tuple[str, ...]] = {
    "paragraph": ("paragraph", "text", "sentence", "context"),
    "head": ("head", "subject", "entity_1", "entity1"),
    "relation": ("relation", "predicate", "property"),
    "tail": ("tail", "object", "entity_2", "entity2"),
}
_WRONG = {
    "unreadable": "the row cannot be read",
    "missing": "a field is missing, or no text",
    "duplicate_id": "an earlier row has this id",
}
REASONS = {
    **_WRONG,
    "blank": "a field is blank",
    "binary": "the text is none: it holds control characters or broken letters",
    "enormous": "the paragraph has more than 10,000 characters, or a name more than 300",
    "incomplete_name": "a name has fewer words than --name-words",
    "same_names": "head and tail are the same name",
    "has_citations": "the paragraph holds citations already",
    "duplicate": "the same paragraph with the same triple came before",
}
_LONGEST = {"paragraph": 10_000, "head": 300, "relation": 300, "tail": 300}
_WORD = re.compile(r"\w")
_ROW = '{"paragraph": "…", "head": "…", "relation": "…", "tail": "…"}'


def pairs_source(
    files: Sequence[Path], name_words: int, *, skip_bad: bool
) -> SourceStep[SourcePair]:
    """Reads the files. Without `skip_bad` all wrong rows are named in one InputError."""

    def read() -> Iterator[SourcePair | Rejected]:
        found = list(_unique(source_rows(files, _ROW), name_words))
        check_rows(files, found, () if skip_bad else _WRONG, f"rows such as {_ROW}")
        return iter(found)

    return SourceStep("pairs", "Read pairs of names with a paragraph", SourcePair, read, REASONS)


def _unique(rows: Iterator[SourceRow], name_words: int) -> Iterator[SourcePair | Rejected]:
    """Of rows that say the same the first, and of several with one id too."""
    said: dict[tuple[str, ...], str] = {}
    ids: dict[str, str] = {}
    for row in rows:
        place = row.location
        if isinstance(row.value, UnusableRow):
            yield Rejected(row.value.kind, row.value.message, id=row.value.id or place)
            continue
        one = _pair_of(row.value, place, name_words)
        if isinstance(one, Rejected):
            yield one
            continue
        same = (plain(one.paragraph), *map(name_key, (one.head, one.relation, one.tail)))
        if same in said:
            yield Rejected("duplicate", f"{place}: the same as {said[same]}", id=one.id)
        elif one.id in ids:
            found = f"found the id {one.id!r} a second time, first in {ids[one.id]}"
            expected = "expected ids that are unique in all files"
            yield Rejected("duplicate_id", f"{place}: {found}; {expected}", id=one.id)
        else:
            said[same] = ids[one.id] = place
            yield one


def _pair_of(row: dict[str, Any], place: str, name_words: int) -> SourcePair | Rejected:
    """The row's pair, or why it is none."""
    given = row.get("id")
    has_id = isinstance(given, str | int) and not isinstance(given, bool)
    id_ = (str(given).strip() if has_id else "") or place
    triple = row.get("triple")
    if isinstance(triple, list | tuple) and len(triple) == 3:
        row = {**row, **dict(zip(("head", "relation", "tail"), triple, strict=True))}
    texts = {}
    for name, names in FIELDS.items():
        value = next((row[one] for one in names if row.get(one) is not None), None)
        at = f"{place}, field {name!r}"
        if not isinstance(value, str):
            found = "nothing" if value is None else describe(value)
            other = f" (or as {', '.join(names[1:])})"
            return Rejected("missing", f"{at}{other}: found {found}; expected a text", id=id_)
        if len(value) > _LONGEST[name]:
            detail = f"found {len(value):,} characters; expected {_LONGEST[name]:,} at most"
            return Rejected("enormous", f"{at}: {detail}", id=id_)
        if (problem := check_text(value)) is not None:
            return Rejected(problem[0], f"{at}: found {problem[1]}", id=id_)
        texts[name] = " ".join(value.split())
    if id_ == place:  # the same for the same row, wherever it stands
        joined = "\0".join(texts.values())
        id_ = sha256(joined.encode("utf-8", "replace")).hexdigest()[:12]
    head, tail = texts["head"], texts["tail"]
    for name in (head, tail):
        if (words := sum(bool(_WORD.search(word)) for word in name.split())) < name_words:
            counted = f"{words} word{'s' * (words != 1)}; expected {name_words} or more"
            return Rejected("incomplete_name", f"{place}: {shorten(name)!r} has {counted}", id=id_)
    if name_key(head) == name_key(tail):
        return Rejected("same_names", f"{place}: found {shorten(head)!r} twice", id=id_)
    if any(
        one.citations or one.missing for one in CitedText(texts["paragraph"], ()).triple_sentences()
    ):
        return Rejected("has_citations", f"{place}: {shorten(texts['paragraph'])}", id=id_)
    return SourcePair(id_, **texts)


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
        asked, found = _folded(relation), _folded(name)
        return self.any_edge or found == asked or found in self.known.get(asked, ())


def _folded(relation: str) -> str:
    """Equal for `place of birth`, `Place_of_birth` and `placeOfBirth`."""
    return name_key(" ".join(relation_words(relation)))


def read_relations(path: Path | None, any_edge: bool) -> Relations:
    """The user's map of relations to properties. InputError, UsageError."""
    known = {}
    row = {} if path is None else read_entries(path, _MAP)
    for relation, names in row.items():
        several = [names] if isinstance(names, str) else names
        if not isinstance(several, list) or not all(
            isinstance(name, str) and name.strip() for name in several
        ):
            expected = f"expected names of properties, as in {_MAP}"
            raise UsageError(f"the map of relations {path}, {relation!r}: {expected}")
        known[_folded(relation)] = tuple(map(_folded, several))
    return Relations(known, any_edge)


# --- the two entities


class _Edge(NamedTuple):
    """A property that joins two entities: does the head tell it, and does it name an id?"""

    name: str
    forward: bool
    by_id: bool


class _Joined(NamedTuple):
    """Two entities, by their ids and graphs, head first, and the edges between them."""

    qids: tuple[str, str]
    graphs: tuple[Graph, Graph]
    edges: Sequence[_Edge]


_Aligned = tuple[_Joined, list[_Edge]]  # with the edges that say the relation


def linking_stage(
    graph: KnowledgeGraph, relations: Relations, types: Sequence[str]
) -> Stage[SourcePair, LinkedPair]:
    """Asks the graph for both names, for the pairs that are joined, and for their subgraphs.

    `types` are names or ids of classes, none where entities may be anything. A graph that answers
    SPARQL is asked which of the namesakes are joined; of others every subgraph is read.
    """
    wanted = frozenset(map(name_key, types))

    async def work(pair: SourcePair, _client: ModelClient) -> Sequence[LinkedPair]:
        try:
            if graph.is_local:  # quick, and not for several threads
                return [_link(graph, pair, relations, wanted)]
            return [await asyncio.to_thread(_link, graph, pair, relations, wanted)]
        except GraphError as error:
            raise Rejected("graph_failed", str(error), transient=True) from error

    return Stage(
        name="link",
        doc="Find the two entities",
        output_type=LinkedPair,
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
        heads, tails = (
            ", ".join(ids[:_SHOWN])
            + (f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else "")
            for ids in namesakes
        )
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
        qids=one.qids,
        edge=edges[0].name,
        graphs=one.graphs,
    )


def _joined(graph: KnowledgeGraph, heads: Sequence[str], tails: Sequence[str]) -> Iterator[_Joined]:
    """All pairs of two different entities with an edge between them, and these edges."""
    pairs = graph.find_joined(heads, tails)
    wanted = list(dict.fromkeys(qid for pair in pairs for qid in pair))
    entities = dict(zip(wanted, graph.entities(wanted), strict=True))
    for one, other in pairs:
        head, tail = entities[one], entities[other]
        if head is None or tail is None or one == other:
            continue
        edges = [_Edge(name, True, by_id) for name, by_id in head.properties_to(tail)]
        edges += [_Edge(name, False, by_id) for name, by_id in tail.properties_to(head)]
        if edges:
            yield _Joined((head.qid, tail.qid), (head.graph(), tail.graph()), edges)


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
        shown = "; ".join(" and ".join(one.qids) for one, _ in best[:_SHOWN])
        raise Rejected("ambiguous_pair", f"{len(best)} pairs: {shown}")
    return best[0]
