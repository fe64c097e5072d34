"""The embedded knowledge graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from trueground.errors import GraphError
from trueground.graph.base import Entity, NamedEntity, Row
from trueground.graph.embedded.folder import HeldStore
from trueground.graph.embedded.names import all_names, subjects_of
from trueground.graph.embedded.query import rows_of
from trueground.graph.embedded.store import readable
from trueground.graph.embedded.subgraph import Subgraphs
from trueground.graph.rdf import entity_iri, qid_of

if TYPE_CHECKING:
    from pyoxigraph import Store


class EmbeddedGraph:
    """A graph in a pyoxigraph store whose names are indexed (`index_names`).

    Properties stand by name, several values of one by text. Of labels and texts those count that
    are in `lang`, in no language, or in a region's form of it ("en-gb"). `held` keeps the store on
    disk until the graph is closed.
    """

    def __init__(
        self,
        store: Store,
        *,
        name: str,
        signature: str,
        lang: str = "en",
        held: HeldStore | None = None,
    ) -> None:
        self._name, self._signature, self._lang, self._held = name, signature, lang, held
        self._store: Store | None = store
        with self._readable():
            self._subgraphs: Subgraphs | None = Subgraphs(store, lang)

    @property
    def name(self) -> str:
        """Where it is."""
        return self._name

    @property
    def signature(self) -> str:
        """What it was made from."""
        return self._signature

    @property
    def lang(self) -> str:
        """The language of its names."""
        return self._lang

    def find(self, names: Sequence[str]) -> list[list[NamedEntity]]:
        """For each name the entities that have it as name or alias, by id. GraphError."""
        store, subgraphs = self._open()
        with self._readable():
            return [
                [
                    NamedEntity(subgraphs.spelt(iri, name), qid_of(iri), subgraphs.types(iri))
                    for iri in subjects_of(store, name)
                ]
                for name in names
            ]

    def entities(self, qids: Sequence[str]) -> list[Entity | None]:
        """For each id its one-hop subgraph; None where there is none. GraphError."""
        _, subgraphs = self._open()
        with self._readable():
            return [self._entity(subgraphs, qid) for qid in qids]

    def names(self) -> Iterator[NamedEntity]:
        """Every name and alias of an entity, by id, then by text. GraphError."""
        store, _ = self._open()
        last = ""
        types: tuple[str, ...] = ()
        with self._readable():
            for iri, text in all_names(store, self._lang):
                if iri != last:
                    last, types = iri, self._open()[1].types(iri)
                yield NamedEntity(text, qid_of(iri), types)

    def query(self, sparql: str, bindings: Mapping[str, str] | None = None) -> Iterator[Row]:
        """Rows of a query; CONSTRUCT and DESCRIBE give subject, predicate and object.

        GraphError: it cannot be read (with the place), would change something or ask elsewhere.
        """
        store, _ = self._open()
        return rows_of(store, sparql, bindings, self._name)

    def close(self) -> None:
        """Let the store go, and what is remembered of it."""
        if self._subgraphs is not None:
            self._subgraphs.close()
        self._store = self._subgraphs = None
        if self._held is not None:
            self._held.close()

    def _entity(self, subgraphs: Subgraphs, qid: str) -> Entity | None:
        try:
            return subgraphs.entity(entity_iri(qid))
        except UnicodeEncodeError:
            return None  # no store can hold it

    def _open(self) -> tuple[Store, Subgraphs]:
        if self._store is None or self._subgraphs is None:
            raise GraphError(f"the graph {self._name} is closed; open it again with open_graph")
        return self._store, self._subgraphs

    def _readable(self) -> AbstractContextManager[None]:
        return readable(f"the store of {self._name}")
