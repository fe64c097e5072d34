"""Which graphs a question is shown with: those given, the gold ones, or those that are linked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trueground.benchmarks.base import Sources
from trueground.benchmarks.kalma.settings import Settings
from trueground.benchmarks.kalma.source import Entry
from trueground.errors import UsageError
from trueground.text.citations.triples import plain
from trueground.types import Graph

if TYPE_CHECKING:
    from trueground.graph.base import KnowledgeGraph

Shown = list[list[Graph]]
_AT_ONCE = 1_000


@dataclass
class Graphs:
    """The graphs of each question, or how to come by them."""

    ready: Shown | None = None
    make: Callable[[], Shown] | None = None

    def get(self) -> Shown:
        """The graphs; the first call asks for them. GraphError, UnreachableError."""
        if self.ready is None:
            assert self.make is not None
            self.ready = self.make()
        return self.ready


def graphs_for(
    settings: Settings, entries: Sequence[Entry], sources: Sources
) -> tuple[Graphs, str | None]:
    """The graphs to show, and the signature of the knowledge graph that they come from."""
    if settings.knowledge == "given":
        return Graphs(given(entries)), None
    if settings.knowledge == "gold" and settings.graph is None:
        return Graphs(gold(entries, None)), None
    graph = open_for(settings.graph, entries, sources.cache)

    def make() -> Shown:
        try:
            if settings.knowledge == "gold":
                return gold(entries, graph)
            return linked(entries, graph, settings.recognizer, sources.progress)
        finally:
            graph.close()

    return Graphs(make=make), graph.signature


def given(entries: Sequence[Entry]) -> Shown:
    """The graphs that come with each question."""
    return [list(entry.graphs or ()) for entry in entries]


def gold(entries: Sequence[Entry], graph: KnowledgeGraph | None) -> Shown:
    """The graph of every entity that a question's minimum set names, in the set's order.

    Without `graph` they are the question's own, else those that came with another question. An
    entity that is nowhere has none.
    """
    wanted = [_named(entry) for entry in entries]
    known = _all_graphs(entries) if graph is None else _asked(graph, wanted)
    shown = []
    for entry, qids in zip(entries, wanted, strict=True):
        own = {plain(str(g["qid"])): g for g in entry.graphs or ()} if graph is None else {}
        found = (own.get(qid) or known.get(qid) for qid in qids)
        shown.append([one for one in found if one is not None])
    return shown


def linked(
    entries: Sequence[Entry],
    graph: KnowledgeGraph,
    recognizer: str,
    progress: Callable[[str, int, int | None], None],
) -> Shown:
    """The graphs of the entities whose names stand in a question."""
    from trueground.graph.linking.linker import Linker

    linker = Linker(graph, recognizer)
    return [one.graphs() for one in linker.link([e.question for e in entries], progress)]


def open_for(written: str | None, entries: Sequence[Entry], cache: bool) -> KnowledgeGraph:
    """The knowledge graph that a user wrote, or all graphs of the data. UsageError, GraphError."""
    if written is not None:
        from trueground.graph.opening import open_graph

        return open_graph(written, cache=cache)
    from trueground.graph.json_graph import JsonGraph

    graphs = [one for entry in entries for one in entry.graphs or ()]
    if not graphs:
        raise UsageError("the questions come with no graphs; name a knowledge graph with --graph")
    return JsonGraph.of(graphs)


def _named(entry: Entry) -> list[str]:
    return list(dict.fromkeys(plain(triple[0]) for triple in entry.minimum or ()))


def _all_graphs(entries: Sequence[Entry]) -> dict[str, Graph]:
    found: dict[str, Graph] = {}
    for entry in entries:
        for graph in entry.graphs or ():
            found.setdefault(plain(str(graph["qid"])), graph)
    return found


def _asked(graph: KnowledgeGraph, wanted: Sequence[Sequence[str]]) -> dict[str, Graph]:
    qids = list(dict.fromkeys(qid for own in wanted for qid in own))
    found: dict[str, Graph] = {}
    for low in range(0, len(qids), _AT_ONCE):
        part = qids[low : low + _AT_ONCE]
        for qid, entity in zip(part, graph.entities(part), strict=True):
            if entity is not None and entity.properties:
                found[qid] = entity.graph()
    return found
