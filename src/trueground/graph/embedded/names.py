"""Names of entities: an index that is written beside the triples, and how they are found in it.

An index entry is (entity, KEY, folded name) in a graph of its own, so that no query of a user meets
it. A look-up is then one step in the store's index, whatever the case of the letters.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from trueground.graph.base import id_order
from trueground.graph.folding import name_key
from trueground.graph.rdf import (
    ABOUT,
    ALIAS,
    DIRECT_CLAIM,
    ENTITY,
    LABELS,
    PROPERTY_TYPES,
    RDF_TYPE,
    language_rank,
    names_no_entity,
    qid_of,
)
from trueground.options import Progress, no_progress

if TYPE_CHECKING:
    from pyoxigraph import NamedNode, Store

_KEY = "urn:trueground:key"
_KEYS = "urn:trueground:keys"  # the graph that holds them
_BATCH = 100_000  # names that are written at once


def index_names(store: Store, lang: str, progress: Progress = no_progress) -> int:
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
    for subject in chain(_properties(store), (one for one in pages if _is_article(store, one))):
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
                and not names_no_entity(subject.value)
                and not _is_article(store, subject)
            ):
                yield subject, label.value


def _is_article(store: Store, page: Any) -> bool:
    """Whether it is a page about an entity of Wikidata, which has that name itself."""
    from pyoxigraph import NamedNode

    if not isinstance(page, NamedNode) or page.value.startswith(ENTITY):
        return False
    about = (q.object for q in store.quads_for_pattern(page, NamedNode(ABOUT), None))
    return any(isinstance(one, NamedNode) and one.value.startswith(ENTITY) for one in about)


def _properties(store: Store) -> set[NamedNode]:
    from pyoxigraph import NamedNode

    subjects = [q.subject for q in store.quads_for_pattern(None, NamedNode(DIRECT_CLAIM), None)]
    for kind in PROPERTY_TYPES:
        quads = store.quads_for_pattern(None, NamedNode(RDF_TYPE), NamedNode(kind))
        subjects += [q.subject for q in quads]
    return {one for one in subjects if isinstance(one, NamedNode)}
