"""The knowledge graph from which the tasks of one command take graphs: opened once, asked once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import normalize

from trueground.benchmarks.base import Sources
from trueground.benchmarks.kalma import ANY_TYPE
from trueground.errors import GraphError
from trueground.plugins import parse_part
from trueground.types import Graph

if TYPE_CHECKING:
    from trueground.graph.base import KnowledgeGraph

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
        """Say what will be asked for."""
        for wanted, known in ((qids, self._entities), (questions, self._questions)):
            for one in wanted:
                known.setdefault(one)

    def entities(self, qids: Sequence[str]) -> dict[str, Graph]:
        """The graph of each entity that has one. GraphError, UnreachableError."""
        self.want(qids=qids)
        self._fetch()
        return {qid: own[0] for qid in qids if (own := self._entities[qid])}

    def linked(self, questions: Sequence[str]) -> list[list[Graph]]:
        """For each question the graphs of the entities whose names stand in it. The same."""
        self.want(questions=questions)
        self._fetch()
        return [self._questions[question] or [] for question in questions]

    def left_to_run(self) -> str | None:
        """In a dry run what a run would ask of an endpoint, in words; None where it may be asked.

        A dry run asks nobody, and keeps nothing.
        """
        if self._sources.scratch is None:
            return None
        from trueground.graph.endpoint.graph import EndpointGraph

        if not isinstance(self._graph, EndpointGraph):
            return None
        if not self._questions:
            what = f"the graphs of {len(self._entities):,} entities"
        else:
            from trueground.graph.linking.recognizers import get_recognizer

            recognizer = get_recognizer(self._recognizer, self._graph, self._types)
            mentions = recognizer.mentions([normalize("NFC", one) for one in self._questions])
            names = {name for own in mentions for one in own for name in one.names}
            what = f"{len(names):,} names and the graphs of what bears them"
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
                self._link(graph, questions)
        finally:
            self._graph = None
            graph.close()
        if problem := getattr(graph, "problem", None):
            self._sources.note_once(problem)

    def _link(self, graph: KnowledgeGraph, questions: Sequence[str]) -> None:
        from trueground.graph.linking.linker import Linker

        try:
            linker = Linker(graph, self._recognizer, self._types)
        except GraphError as error:
            hint = f". --types {ANY_TYPE} links entities of all classes" if self._types else ""
            raise GraphError(f"{error}{hint}") from error
        found = linker.link(questions, self._sources.progress)
        for question, one in zip(questions, found, strict=True):
            self._questions[question] = one.graphs()


def _pipeline_sha256(recognizer: str) -> str | None:
    """Of all files of a spaCy pipeline, which fix what it finds; None where there is none."""
    model = parse_part("recognizer", recognizer).model
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
                    own = hashlib.file_digest(file, "sha256").digest()
                sha256.update(path.relative_to(folder).as_posix().encode() + b"\0" + own)
    except (OSError, ValueError):  # spaCy, which reads it next, says why
        return None
    return sha256.hexdigest()
