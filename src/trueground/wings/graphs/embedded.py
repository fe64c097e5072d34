"""The embedded knowledge graph: names, one-hop subgraphs and queries of a pyoxigraph store.

Names are found by an index that is written beside the triples. An entry is (entity, KEY, folded
name) in a graph of its own, so that no query of a user meets it. A look-up is then one step in the
store's index, whatever the case of the letters. Of SPARQL only what reads this store is let in.
"""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueground.errors import GraphError, MissingExtraError, WriteError
from trueground.options import Progress, do_nothing
from trueground.wings.graphs.base import Entity, NamedEntity, PropertyValue, Row, id_order
from trueground.wings.graphs.joined import query_joined
from trueground.wings.graphs.names import name_key
from trueground.wings.graphs.onehop import EntityReader
from trueground.wings.graphs.rdf import (
    ABOUT,
    ALIAS,
    DIRECT,
    DIRECT_CLAIM,
    ENTITY,
    LABELS,
    PREFIXES,
    PROPERTY_TYPES,
    RDF_TYPE,
    TYPES,
    entity_iri,
    language_rank,
    literal_value,
    names_no_entity,
    qid_of,
)
from trueground.wings.graphs.sparql import UPDATES, bound, first_word, is_text

if TYPE_CHECKING:
    from pyoxigraph import Literal, NamedNode, Store


_REMEMBERED = 50_000  # names of entities
_KEY = "urn:trueground:key"
_KEYS = "urn:trueground:keys"  # the graph that holds them
_BATCH = 100_000  # names that are written at once


def empty_store(path: Path | None = None) -> Store:
    """A store that can be written, in memory or in a folder.

    MissingExtraError; OSError; RuntimeError: what is in the folder is damaged.
    """
    store = _store_type()
    return store() if path is None else store(str(path))


def read_store(path: Path) -> Store:
    """A store on disk that any number of processes may read at once. GraphError."""
    with readable(f"the store {path}"):
        return _store_type().read_only(str(path))


def _store_type() -> type[Store]:
    try:
        from pyoxigraph import Store
    except ImportError:
        raise MissingExtraError("the embedded knowledge graph", "graph") from None
    return Store


@contextmanager
def readable(what: str, *, writing: bool = False) -> Iterator[None]:
    """GraphError where a store cannot be read: pyoxigraph tells damage by a RuntimeError.

    With `writing` an OSError is a WriteError: the store is being filled.
    """
    try:
        yield
    except (OSError, RuntimeError) as error:
        if writing and isinstance(error, OSError):
            raise WriteError(
                f"loading into {what} failed: {error}; free some disk space or allow writing, "
                "then run again. The graph is unchanged"
            ) from error
        raise GraphError(
            f"can't read {what}: {error}; its files are missing, damaged or not readable. Load the "
            "graph again with: trueground graph load SOURCE… --out DIR --overwrite"
        ) from error


class EmbeddedGraph:
    """A graph in a pyoxigraph store whose names are indexed (`index_names`).

    `name` says where it is, `signature` what it was made from. Properties stand by name, several
    values of one by text. Of labels and texts those count that are in `lang`, in no language, or in
    a region's form of it ("en-gb"). `lock`, a file descriptor, keeps the store on disk until the
    graph is closed.
    """

    is_local = True

    def __init__(
        self,
        store: Store,
        *,
        name: str,
        signature: str,
        lang: str = "en",
        lock: int | None = None,
    ) -> None:
        self.name, self.signature, self.lang = name, signature, lang
        self._unlock = None if lock is None else weakref.finalize(self, os.close, lock)
        self._store: Store | None = store
        with self._readable():
            self._reader: _StoreReader | None = _StoreReader(store, lang)

    def find(self, names: Sequence[str]) -> list[list[NamedEntity]]:
        """For each name the entities that have it as name or alias, by id. GraphError."""
        store, reader = self._open()
        with self._readable():
            return [
                [
                    NamedEntity(reader.spelling(iri, name), qid_of(iri), reader.types(iri))
                    for iri in subjects_of(store, name)
                ]
                for name in names
            ]

    def entities(self, qids: Sequence[str]) -> list[Entity | None]:
        """For each id its one-hop subgraph; None where there is none. GraphError."""
        _, reader = self._open()
        with self._readable():
            return [reader.read(entity_iri(qid)) if is_text(qid) else None for qid in qids]

    def names(self) -> Iterator[NamedEntity]:
        """Every name and alias of an entity, by id, then by text. GraphError."""
        store, _ = self._open()
        last = ""
        types: tuple[str, ...] = ()
        with self._readable():
            for iri, text in all_names(store, self.lang):
                if iri != last:
                    last, types = iri, self._open()[1].types(iri)
                yield NamedEntity(text, qid_of(iri), types)

    def query(self, sparql: str, bindings: Mapping[str, str] | None = None) -> Iterator[Row]:
        """Rows of a query; CONSTRUCT and DESCRIBE give subject, predicate and object.

        GraphError: it cannot be read (with the place), would change something or ask elsewhere.
        """
        store, _ = self._open()
        return rows_of(store, sparql, bindings, self.name)

    def find_joined(self, heads: Sequence[str], tails: Sequence[str]) -> list[tuple[str, str]]:
        """Return the pairs of ids, one of each side, that an edge joins."""
        return list(query_joined(self, heads, tails))

    def close(self) -> None:
        """Let the store go, and what is remembered of it."""
        if self._reader is not None:
            self._reader.__dict__.clear()  # what is remembered holds the store too, in a circle
        self._store = self._reader = None
        if self._unlock is not None:
            self._unlock()

    def _open(self) -> tuple[Store, _StoreReader]:
        if self._store is None or self._reader is None:
            raise GraphError(f"the graph {self.name} is closed; open it again with open_graph")
        return self._store, self._reader

    def _readable(self) -> AbstractContextManager[None]:
        return readable(f"the store of {self.name}")


class _StoreReader(EntityReader):
    """Reads entities from a store; names are remembered."""

    def __init__(self, store: Store, lang: str) -> None:
        from pyoxigraph import DefaultGraph, Literal, NamedNode

        super().__init__(lang, NamedNode, Literal)
        here = DefaultGraph()  # all triples are there, and it is read in half the time

        def quads(subject: Any, predicate: Any, value: Any = None) -> Iterable[Any]:
            return store.quads_for_pattern(subject, predicate, value, here)

        def used(predicates: Iterable[str]) -> list[NamedNode]:
            """Those that the store has at all."""
            nodes = map(NamedNode, predicates)
            return [one for one in nodes if next(iter(quads(None, one)), None) is not None]

        self._quads: Callable[..., Iterable[Any]] = quads
        self._labels, self.names, self._types = map(used, (LABELS, (*LABELS, ALIAS), TYPES))
        self._direct_claim = NamedNode(DIRECT_CLAIM)
        # What many entities name is read once.
        remembered = lru_cache(_REMEMBERED)
        self.label = remembered(self.label)  # type: ignore[method-assign]
        self.node_value = remembered(self.node_value)  # type: ignore[method-assign]
        self.class_names = remembered(self.class_names)  # type: ignore[method-assign]
        self.property = lru_cache(None)(self.property)  # type: ignore[method-assign]

    def read(self, iri: str) -> Entity | None:
        """The entity; None where the store has nothing of it."""
        try:
            subject = self.node(iri)
        except ValueError:
            return None  # no store can hold it
        said: dict[str, list[Any]] = {}
        for quad in self._quads(subject, None):
            predicate = quad.predicate.value
            if predicate in said:
                said[predicate].append(quad.object)
            else:
                said[predicate] = [quad.object]
        return self.entity(iri, said) if said else None

    def types(self, iri: str) -> tuple[str, ...]:
        """Names and ids of its classes."""
        subject = self.node(iri)
        return self.classes(q.object for one in self._types for q in self._quads(subject, one))

    def spelling(self, iri: str, name: str) -> str:
        """The name or alias of the entity that equals `name` but for case, as the store has it."""
        key, subject = name_key(name), self.node(iri)
        for predicate in self.names:
            for text in self.fitting(quad.object for quad in self._quads(subject, predicate)):
                if name_key(text) == key:
                    return text
        return name

    def is_described(self, iri: str) -> bool:
        return next(iter(self._quads(self.node(iri), None)), None) is not None

    def describers(self, predicate: str) -> Iterable[str]:
        claims = self._quads(None, self._direct_claim, self.node(predicate))
        found = [q.subject.value for q in claims if isinstance(q.subject, self.node)]
        if predicate.startswith(DIRECT):
            found.append(ENTITY + predicate[len(DIRECT) :])
        return (*sorted(found), predicate)

    def literal_value(self, term: Literal) -> PropertyValue:
        return literal_value(term.value, term.datatype.value)

    def label(self, iri: str) -> str | None:
        subject = self.node(iri)
        for predicate in self._labels:
            if texts := self.fitting(quad.object for quad in self._quads(subject, predicate)):
                return texts[0]
        return None


def index_names(store: Store, lang: str, progress: Progress = do_nothing) -> int:
    """Write the index of the labels and aliases that serve readers of `lang`; how many there are.

    Names of properties, and of articles about an entity, are left out. It may be written again
    when triples were added. OSError: writing failed.
    """
    from pyoxigraph import Literal, NamedNode, RdfFormat

    key, keys = NamedNode(_KEY), NamedNode(_KEYS)
    _remove_stale(store, key, keys)
    count = 0
    named = _named(store, lang)
    while batch := list(islice(named, _BATCH)):
        folded = ((entity, name_key(text)) for entity, text in batch)
        lines = [f"{entity} {key} {Literal(name)} .\n" for entity, name in folded if name]
        text = "".join(lines).encode()
        store.bulk_load(text, RdfFormat.N_TRIPLES, to_graph=keys, lenient=True)
        count += len(lines)
        progress("names", count, None)
    progress("names", count, count)
    return count


def _remove_stale(store: Store, key: NamedNode, keys: NamedNode) -> None:
    """Take out what triples that were added since say to be properties or articles."""
    from pyoxigraph import NamedNode

    if next(store.quads_for_pattern(None, key, None, keys), None) is None:
        return
    pages = (q.subject for q in store.quads_for_pattern(None, NamedNode(ABOUT), None))
    others = (p for p in pages if isinstance(p, NamedNode) and not p.value.startswith(ENTITY))
    articles = (page for page in others if _is_article(store, page.value))
    for subject in chain(_properties(store), articles):
        for quad in list(store.quads_for_pattern(subject, key, None, keys)):
            store.remove(quad)


def all_names(store: Store, lang: str) -> Iterator[tuple[str, str]]:
    """Every name and alias with the address of its entity; ordered by id, then by text."""
    found = {(entity.value, text) for entity, text in _named(store, lang) if text.strip()}
    yield from sorted(found, key=lambda pair: (id_order(qid_of(pair[0])), pair[1]))


def subjects_of(store: Store, name: str) -> list[str]:
    """The addresses of the entities with this name or alias, by id."""
    from pyoxigraph import Literal, NamedNode

    try:
        key = Literal(name_key(name))
    except (ValueError, UnicodeEncodeError):
        return []  # no store can hold it: it is no valid Unicode
    if not key.value:
        return []
    quads = store.quads_for_pattern(None, NamedNode(_KEY), key, NamedNode(_KEYS))
    found = (q.subject.value for q in quads if isinstance(q.subject, NamedNode))
    return sorted(found, key=lambda iri: id_order(qid_of(iri)))


def _named(store: Store, lang: str) -> Iterator[tuple[NamedNode, str]]:
    """The labels and aliases of entities that serve readers of the language."""
    from pyoxigraph import DefaultGraph, Literal, NamedNode

    lang, here = lang.lower(), DefaultGraph()
    properties = _properties(store)
    for predicate in (*LABELS, ALIAS):
        for quad in store.quads_for_pattern(None, NamedNode(predicate), None, here):
            subject, label = quad.subject, quad.object
            if (
                isinstance(subject, NamedNode)
                and isinstance(label, Literal)
                and language_rank(label.language, lang) is not None
                and subject not in properties
            ):
                iri = subject.value
                if iri.startswith(ENTITY) or not (names_no_entity(iri) or _is_article(store, iri)):
                    yield subject, label.value


def _is_article(store: Store, page: str) -> bool:
    """Whether it is a page about an entity of Wikidata, which has that name itself."""
    from pyoxigraph import NamedNode

    about = (q.object for q in store.quads_for_pattern(NamedNode(page), NamedNode(ABOUT), None))
    return any(isinstance(one, NamedNode) and one.value.startswith(ENTITY) for one in about)


def _properties(store: Store) -> set[NamedNode]:
    from pyoxigraph import NamedNode

    subjects = [q.subject for q in store.quads_for_pattern(None, NamedNode(DIRECT_CLAIM), None)]
    for kind in PROPERTY_TYPES:
        quads = store.quads_for_pattern(None, NamedNode(RDF_TYPE), NamedNode(kind))
        subjects += [q.subject for q in quads]
    return {one for one in subjects if isinstance(one, NamedNode)}


_EXPECTED = "expected one SELECT, ASK, CONSTRUCT or DESCRIBE"


def rows_of(
    store: Store, sparql: str, bindings: Mapping[str, str] | None, name: str
) -> Iterator[Row]:
    """The rows of a query, as `Queried.query` gives them. GraphError names what is wrong."""
    from pyoxigraph import QueryBoolean, QueryTriples

    try:
        with _answering(name):
            _check_local(sparql, name)
            # The store's own substitutions want every variable selected, and miss some places.
            text, added = bound(sparql, bindings or {})
            if text != sparql:
                _check_local(text, name)
            # The graph of the names is no part of what is asked; all else is in the default one.
            found = store.query(text, prefixes=PREFIXES, named_graphs=[])
    except SyntaxError as error:
        # It is shown as it was written, unless it is the values that make it wrong.
        own = _syntax_error(sparql) if text != sparql else None
        raise _unreadable(*((text, str(error)) if own is None else (sparql, own))) from None
    if isinstance(found, QueryBoolean):
        return iter([{"ask": "true" if found else "false"}])
    if isinstance(found, QueryTriples):
        return _rows(found, ("subject", "predicate", "object"), {}, name)
    return _rows(found, [one.value for one in found.variables], added, name)


def _rows(found: Any, names: Sequence[str], added: Row, store: str) -> Iterator[Row]:
    from pyoxigraph import Literal, NamedNode

    def text(term: object) -> str | None:
        if term is None:
            return None
        return term.value if isinstance(term, Literal | NamedNode) else str(term)

    with _answering(store):
        for terms in found:
            yield {**dict(zip(names, map(text, terms), strict=True)), **added}


@contextmanager
def _answering(name: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, RuntimeError) as error:
        if isinstance(error, UnicodeEncodeError):
            raise GraphError(
                f"the query isn't valid Unicode; write it as UTF-8 text. {_EXPECTED}"
            ) from None
        raise GraphError(
            f"the query to {name} failed: {error}. Fix the query, or load the graph again"
        ) from error


def _check_local(sparql: str, name: str) -> None:
    """GraphError where the store would ask another endpoint, or cannot read what could do so.

    The grammar lets keywords stick to almost anything, so its own parser is asked: a query without
    the keyword stays readable when the word is another one wherever it stands. (In a keyword the
    parser reads no escapes; of \\u0053 for S it says itself that it cannot stand there.)
    """
    other = re.sub(r"(?i)(servic)e", r"\1x", sparql)
    if other == sparql or (reason := _syntax_error(other)) is None:
        return
    if _syntax_error(re.sub(r"(?i)service(?:\s*silent)?", "GRAPH", sparql)) is not None:
        raise _unreadable(sparql, reason)
    raise GraphError(
        f"the query has SERVICE, which would query another endpoint; {name} only answers from "
        "its triples. Leave SERVICE out, or query that endpoint directly as sparql:URL"
    )


def _syntax_error(sparql: str) -> str | None:
    """What the store's parser says of what is no query; None where it is one."""
    try:
        empty_store().query(sparql, prefixes=PREFIXES)
    except SyntaxError as error:
        return str(error)
    return None


def _unreadable(sparql: str, reason: str) -> GraphError:
    if (word := first_word(sparql)) in UPDATES:
        return GraphError(
            f"the query begins with {word}, which changes a graph; {_EXPECTED}. Add triples with: "
            "trueground graph load FILE --out DIR"
        )
    place = re.match(r"error at (\d+):(\d+): ", reason)
    if place is None:
        return GraphError(f"can't parse the query: {reason}; {_EXPECTED}")
    # What the parser would expect there is one of many, and seldom what was meant.
    line, column = int(place[1]), int(place[2])
    lines = sparql.splitlines() or [""]
    rest = lines[line - 1][column - 1 :][:30] if line <= len(lines) else ""
    found = f"found {rest!r}, which isn't valid here" if rest.strip() else "it ends too early"
    return GraphError(
        f"can't parse the query: line {line}, column {column}: {found}; {_EXPECTED}. Fix the query"
    )
