"""Which graphs a question is shown with: those given, the gold ones, or those that are linked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trueground.benchmarks.base import Sources
from trueground.benchmarks.kalma import KalmaOptions
from trueground.benchmarks.kalma.library import GraphLibrary
from trueground.benchmarks.kalma.source import GraphQuestion
from trueground.errors import UsageError
from trueground.text.triples import plain
from trueground.types import Graph

if TYPE_CHECKING:
    from trueground.graph.base import KnowledgeGraph

Shown = list[list[Graph]]


@dataclass
class ShownGraphs:
    """The graphs of each question, or how to come by them; `unknown`: a dry run did not ask."""

    ready: Shown | None = None
    make: Callable[[], Shown] | None = None
    unknown: bool = False

    def get(self) -> Shown:
        """The graphs; the first call asks for them. GraphError, UnreachableError."""
        if self.ready is None:
            assert self.make is not None
            self.ready = self.make()
        return self.ready


def graphs_for(
    settings: KalmaOptions,
    every: Sequence[GraphQuestion],
    numbers: Sequence[int],
    sources: Sources,
) -> tuple[ShownGraphs, GraphLibrary | None]:
    """The graphs of the entries with these numbers, and the knowledge graph that they come from.

    Without --graph that is made of the graphs of every entry. UsageError, GraphError.
    """
    if not settings.asks_graph:
        shown = given(every) if settings.shown == "given" else gold(every, None)
        return ShownGraphs([shown[i] for i in numbers]), None
    library = _library(settings, every, sources)
    entries = [every[i] for i in numbers]
    if settings.shown == "gold":
        library.want(qids=(qid for entry in entries for qid in named(entry)))
    else:
        library.want(questions=(entry.question for entry in entries))

    def make() -> Shown:
        if left := library.left_to_run():
            sources.note_once(left)
            graphs.unknown = True
            return [[] for _ in entries]
        if settings.shown == "gold":
            return gold(entries, library)
        return library.linked([entry.question for entry in entries])

    graphs = ShownGraphs(make=make)
    return graphs, library


def given(entries: Sequence[GraphQuestion]) -> Shown:
    """The graphs that come with each question."""
    return [list(entry.graphs or ()) for entry in entries]


def gold(entries: Sequence[GraphQuestion], library: GraphLibrary | None) -> Shown:
    """The graph of every entity that a question's minimum set names, in the set's order.

    Without `library` they are the question's own, else those that came with another question. An
    entity that is nowhere has none.
    """
    wanted = [named(entry) for entry in entries]
    if library is None:
        known = _all_graphs(entries)
    else:
        known = library.entities(list(dict.fromkeys(qid for own in wanted for qid in own)))
    shown = []
    for entry, qids in zip(entries, wanted, strict=True):
        own = {plain(str(g["qid"])): g for g in entry.graphs or ()} if library is None else {}
        found = (own.get(qid) or known.get(qid) for qid in qids)
        shown.append([one for one in found if one is not None])
    return shown


def _library(
    settings: KalmaOptions, entries: Sequence[GraphQuestion], sources: Sources
) -> GraphLibrary:
    """That of all tasks of the command that take graphs from the same place in the same way."""
    written, place = settings.graph, (settings.task, sources.data)
    key = ("kalma graph", written or place, settings.finder, settings.classes)
    if key not in sources.shared:
        sources.shared[key] = GraphLibrary(
            lambda: _opened(written, entries, sources.cache),
            settings.finder,
            settings.classes,
            sources,
        )
    found: GraphLibrary = sources.shared[key]
    return found


def _opened(written: str | None, entries: Sequence[GraphQuestion], cache: bool) -> KnowledgeGraph:
    """The knowledge graph that a user wrote, or all graphs of the data. UsageError, GraphError."""
    if written is not None:
        from trueground.graph.opening import open_graph

        return open_graph(written, cache=cache)
    from trueground.graph.json_graph import JsonGraph

    graphs = [one for entry in entries for one in entry.graphs or ()]
    if not graphs:
        raise UsageError("the questions come with no graphs; name a knowledge graph with --graph")
    return JsonGraph.of(graphs)


def named(entry: GraphQuestion) -> list[str]:
    """The entities that the minimum set of a question names, in its order."""
    return list(dict.fromkeys(plain(triple[0]) for triple in entry.minimum or ()))


def _all_graphs(entries: Sequence[GraphQuestion]) -> dict[str, Graph]:
    found: dict[str, Graph] = {}
    for entry in entries:
        for graph in entry.graphs or ():
            found.setdefault(plain(str(graph["qid"])), graph)
    return found
