"""Graphs that are shown: taken from a knowledge graph, pieces removed, some replaced."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueground.benchmarks import Sources
from trueground.components import ComponentSpec
from trueground.errors import GraphError, InputError, UsageError
from trueground.text import GraphTriple, draw_number, plain
from trueground.types import Graph, Triple
from trueground.wings.papers.kalma import ANY_TYPE, KalmaOptions
from trueground.wings.papers.kalma.source import SEPARATOR, GraphQuestion, rank_by_seed

if TYPE_CHECKING:
    from trueground.wings.graphs import KnowledgeGraph


Shown = list[list[Graph]]
_AT_ONCE = 1_000


class GraphLibrary:
    """Answers from a knowledge graph, each kept for the tasks that ask the same.

    What tasks want they say beforehand (`want`); the first of them that asks has all of it fetched,
    and then the graph is closed. `pipeline` is the checksum of a spaCy pipeline, else None. Raises
    UsageError and GraphError where the graph cannot be opened.
    """

    def __init__(
        self,
        opened: Callable[[], KnowledgeGraph],
        recognizer: str,
        types: Sequence[str],
        sources: Sources,
    ) -> None:
        self._open, self._sources = opened, sources
        self._recognizer, self._types = recognizer, types
        self.pipeline = _pipeline_sha256(recognizer)
        self._graph: KnowledgeGraph | None = opened()
        self.name, self.signature = self._graph.name, self._graph.signature
        # What is wanted → its graphs, or None before they are fetched.
        self._entities: dict[str, list[Graph] | None] = {}
        self._questions: dict[str, list[Graph] | None] = {}

    def want(self, *, qids: Iterable[str] = (), questions: Iterable[str] = ()) -> None:
        for wanted, known in ((qids, self._entities), (questions, self._questions)):
            for one in wanted:
                known.setdefault(one)

    def entities(self, qids: Sequence[str]) -> dict[str, Graph]:
        """The graph of each entity that has one. GraphError, UnreachableError."""
        self.want(qids=qids)
        self._fetch()
        return {qid: found[0] for qid in qids if (found := self._entities[qid])}

    def linked(self, questions: Sequence[str]) -> list[list[Graph]]:
        """For each question the graphs of the entities whose names stand in it. The same."""
        self.want(questions=questions)
        self._fetch()
        return [self._questions[question] or [] for question in questions]

    def dry_run_message(self) -> str | None:
        """Return what a run would request from an endpoint, which a dry run doesn't call.

        None if this isn't a dry run, or if the graph is local.
        """
        if self._sources.scratch is None:
            return None
        if self._graph is None or self._graph.is_local:
            return None
        what = f"the graphs of {len(self._entities):,} entities"
        if self._questions:
            what = (
                f"the names in {len(self._questions):,} questions and the graphs of what bears them"
            )
        return (
            f"a dry run asks no endpoint: a run asks {self.name} for {what}, and the tokens are "
            "counted without them"
        )

    def _fetch(self) -> None:
        qids = [one for one, known in self._entities.items() if known is None]
        questions = [one for one, known in self._questions.items() if known is None]
        if not qids and not questions:
            return
        graph = self._graph = self._graph or self._open()
        try:
            for low in range(0, len(qids), _AT_ONCE):
                part = qids[low : low + _AT_ONCE]
                for qid, one in zip(part, graph.entities(part), strict=True):
                    self._entities[qid] = [one.graph()] if one and one.properties else []
            if questions:
                from trueground.wings.graphs import Linker

                try:
                    linker = Linker(graph, self._recognizer, self._types)
                except GraphError as error:
                    hint = f". --types {ANY_TYPE} links entities of all classes" * bool(self._types)
                    raise GraphError(f"{error}{hint}") from error
                found = linker.link(questions, self._sources.progress)
                for question, linked in zip(questions, found, strict=True):
                    self._questions[question] = linked.graphs()
        finally:
            self._graph = None
            graph.close()
        if problem := getattr(graph, "problem", None):
            self._sources.note_once(problem)


def _pipeline_sha256(recognizer: str) -> str | None:
    """Of all files of a spaCy pipeline, which fix what it finds; None where there is none."""
    model = ComponentSpec.parse("recognizer", recognizer).model
    if not model:
        return None
    sha256 = hashlib.sha256()
    try:
        found = find_spec(model) if model.isidentifier() else None
        places = found.submodule_search_locations if found else None
        folder = Path(places[0]) if places else Path(model)
        if not (folder / "meta.json").is_file():
            return None
        for path in sorted(one for one in folder.rglob("*") if "__pycache__" not in one.parts):
            if path.is_file():
                with path.open("rb") as file:
                    digest = hashlib.file_digest(file, "sha256").digest()
                sha256.update(path.relative_to(folder).as_posix().encode() + b"\0" + digest)
    except (OSError, ValueError):  # spaCy, which reads it next, says why
        return None
    return sha256.hexdigest()


def open_library(
    options: KalmaOptions, entries: Sequence[GraphQuestion], sources: Sources
) -> GraphLibrary:
    """That of all tasks of the command that take graphs from the same place in the same way.

    Without --graph it is made of the graphs of every entry. UsageError, GraphError.
    """
    written = options.graph

    def opened() -> KnowledgeGraph:
        from trueground.wings.graphs import open_graph

        if written is not None:
            return open_graph(written, cache=sources.cache)
        graphs = [one for entry in entries for one in entry.graphs or ()]
        if not graphs:
            raise UsageError(
                "the questions come with no graphs; name a knowledge graph with --graph"
            )
        return open_graph(graphs)

    place = written or (options.task, sources.data)
    key = ("kalma graph", place, options.finder, options.classes)
    if key not in sources.shared:
        sources.shared[key] = GraphLibrary(opened, options.finder, options.classes, sources)
    found: GraphLibrary = sources.shared[key]
    return found


def gold_graphs(entries: Sequence[GraphQuestion], library: GraphLibrary | None = None) -> Shown:
    """The graph of every entity that a question's minimum set names, in the set's order.

    Without `library` they are the question's own, else those that came with another question. An
    entity that is nowhere has none.
    """
    known: dict[str, Graph] = {}
    if library is None:
        for graph in (graph for entry in entries for graph in entry.graphs or ()):
            known.setdefault(qid_of(graph), graph)
    else:
        wanted = dict.fromkeys(qid for entry in entries for qid in entry.entities)
        known = library.entities(list(wanted))
    shown = []
    for entry in entries:
        own = {} if library else {qid_of(graph): graph for graph in entry.graphs or ()}
        found = (own.get(qid) or known.get(qid) for qid in entry.entities)
        shown.append([one for one in found if one is not None])
    return shown


def remove_pieces(
    graphs: Sequence[Graph],
    minimum: Sequence[Triple],
    number: int,
    staying: Collection[Triple] = (),
) -> tuple[list[Graph], list[Triple]]:
    """The graphs without the first `number` pieces of the set that they have, and these pieces.

    Conscious incompetence (Li et al. 2024, section 4.4). More pieces removed always contain the
    fewer ones. What is in `staying` is not removed: where it is known which pieces the first round
    chose, these stay, as with the authors, for it is the later ones, which the question was grown
    by, that a model should miss. Of a property with several values only that value goes.
    """
    there = GraphTriple.keys_of(graphs) - {GraphTriple(*triple).key for triple in staying}
    pieces: dict[GraphTriple, Triple] = {}
    for triple in minimum:
        if GraphTriple(*triple).key in there:
            pieces.setdefault(GraphTriple(*triple).key, triple)
    removed = dict(list(pieces.items())[:number])
    return [_without(graph, removed.keys()) for graph in graphs], list(removed.values())


def _without(graph: Graph, gone: Any) -> Graph:
    qid, left = str(graph["qid"]), Graph()
    for name, value in graph.items():
        several = value if isinstance(value, list) else [value]
        rest = several
        if name != "qid":
            rest = [
                one
                for one in several
                if one is None or GraphTriple.of(qid, name, one).key not in gone
            ]
        if len(rest) == len(several):
            left[name] = value
        elif rest:
            left[name] = rest if len(rest) > 1 else rest[0]
    return left


def replace_graphs(
    entries: Sequence[GraphQuestion], shown: Shown, accuracy: int, seed: int
) -> tuple[Shown, list[int]]:
    """The graphs of which `accuracy` percent of all are right, and how many of each are wrong.

    Retrieval accuracy (section 5.3). What stays at a lower accuracy also stays at a higher one, and
    a graph that is replaced is always replaced by the same other one. InputError: no other question
    has a graph to put in a wrong one's place.
    """
    places = [(i, j) for i, graphs in enumerate(shown) for j in range(len(graphs))]
    order = rank_by_seed(places, f"{seed}/order")
    right = (2 * len(places) * accuracy + 100) // 200  # rounded half up
    # Of each question the places that are wrong; what is wrong at higher accuracies comes first.
    wrong: list[list[int]] = [[] for _ in shown]
    for i, j in reversed(order[right:]):
        wrong[i].append(j)
    # Each entity's graph once: those shown with a question, then those that came with one.
    pool: dict[str, Graph] = {}
    came = [list(entry.graphs or ()) for entry in entries]
    for graph in (graph for graphs in (*shown, *came) for graph in graphs):
        pool.setdefault(qid_of(graph), graph)
    others, changed = list(pool.values()), []
    for entry, graphs, places_of in zip(entries, shown, wrong, strict=True):
        new = _irrelevant(entry, graphs, places_of, others, f"{seed}/{entry.id}")
        changed.append([new.get(j, graph) for j, graph in enumerate(graphs)])
    return changed, list(map(len, wrong))


def _irrelevant(
    entry: GraphQuestion,
    graphs: Sequence[Graph],
    places: Sequence[int],
    pool: Sequence[Graph],
    seed: str,
) -> dict[int, Graph]:
    """A graph for each of the places: of an entity that the question has nothing to do with.

    That is: its graph came with the question neither as retrieved nor as gold, the minimum set does
    not name it, and its name does not stand in the question.
    """
    near = {qid_of(graph) for graph in (*graphs, *(entry.graphs or ()))} | {*entry.entities}
    asked = plain(entry.question).casefold()
    found: dict[int, Graph] = {}
    for place in places:
        start = draw_number(seed, place, separator=SEPARATOR) % len(pool)
        for step in range(len(pool)):
            graph = pool[(start + step) % len(pool)]
            name = plain(str(graph.get("name") or "")).casefold()
            if qid_of(graph) not in near and not (name and name in asked):
                near.add(qid_of(graph))
                found[place] = graph
                break
        else:
            raise InputError(
                f"question {entry.id!r}: found no graph of another question that is irrelevant to "
                "it; expected data with more questions, or leave --retrieval-accuracy out"
            )
    return found


def qid_of(graph: Graph) -> str:
    """The id of a graph's entity, plain."""
    return plain(str(graph["qid"]))
