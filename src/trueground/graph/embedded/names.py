"""Names of entities: an index that is written beside the triples, and how they are found in it.

An index entry is (entity, KEY, folded name) in a graph of its own, so that no query of a user meets
it. A look-up is then one step in the store's index, whatever the case of the letters.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING

from trueground.graph.base import id_order
from trueground.graph.embedded.bulk import Part, load_parts
from trueground.graph.folding import name_key
from trueground.graph.literals import fits
from trueground.graph.rdf import (
    ABOUT,
    ALIAS,
    DIRECT_CLAIM,
    ENTITY,
    LABELS,
    PROPERTY_TYPES,
    RDF_TYPE,
    names_no_entity,
    qid_of,
)
from trueground.options import Progress, no_progress

if TYPE_CHECKING:
    from pyoxigraph import Literal, NamedNode, Store

KEY = "urn:trueground:key"
KEYS = "urn:trueground:keys"  # the graph that holds them
_STEP = 100_000  # names that are written at once


def index_names(store: Store, lang: str, progress: Progress = no_progress) -> int:
    """Write the index of the labels and aliases that serve readers of `lang`; how many there are.

    Names of properties, and of articles about an entity, are left out. It may be written again
    when triples were added. OSError: writing failed.
    """
    from pyoxigraph import Literal, NamedNode

    count = 0
    key, keys = f"<{KEY}>", NamedNode(KEYS)

    def parts() -> Iterator[Part]:
        nonlocal count
        named = _named(store, lang)
        while some := list(islice(named, _STEP)):
            folded = ((entity, name_key(text)) for entity, text in some)
            lines = [f"{entity} {key} {Literal(name)} .\n" for entity, name in folded if name]
            count += len(lines)
            progress("names", count, None)
            yield "".join(lines).encode(), keys

    # Written by other threads while the next names are read.
    load_parts(store, parts())
    progress("names", count, count)
    return count


def leave_out(store: Store) -> int:
    """Take names of properties and articles out of the index again; how many. OSError.

    Only the whole graph tells which these are; `index_names` does not write them.
    """
    from pyoxigraph import NamedNode

    taken = 0
    key, keys = NamedNode(KEY), NamedNode(KEYS)
    for subject in chain(_properties(store), _articles(store)):
        for quad in list(store.quads_for_pattern(NamedNode(subject), key, None, keys)):
            store.remove(quad)
            taken += 1
    return taken


def all_names(store: Store, lang: str) -> Iterator[tuple[str, str]]:
    """Every name and alias with the address of its entity; ordered by id, then by text."""
    found = {(entity.value, text) for entity, text in _named(store, lang) if text.strip()}
    yield from sorted(found, key=lambda pair: (id_order(qid_of(pair[0])), pair[1]))


def subjects_of(store: Store, name: str) -> list[str]:
    """The addresses of the entities with this name or alias, by id."""
    from pyoxigraph import NamedNode

    literal = text_literal(name_key(name))
    if literal is None or not literal.value:
        return []
    quads = store.quads_for_pattern(None, NamedNode(KEY), literal, NamedNode(KEYS))
    found = (q.subject.value for q in quads if isinstance(q.subject, NamedNode))
    return sorted(found, key=lambda iri: id_order(qid_of(iri)))


def text_literal(text: str) -> Literal | None:
    """A text as a literal; None for one that no store can hold (it is not valid Unicode)."""
    from pyoxigraph import Literal

    try:
        return Literal(text)
    except (ValueError, UnicodeEncodeError):
        return None


def _named(store: Store, lang: str) -> Iterator[tuple[NamedNode, str]]:
    """The labels and aliases of entities that serve readers of the language."""
    from pyoxigraph import DefaultGraph, Literal, NamedNode

    lang = lang.lower()
    properties = _properties(store)
    here = DefaultGraph()
    for predicate in (*LABELS, ALIAS):
        for quad in store.quads_for_pattern(None, NamedNode(predicate), None, here):
            subject, label = quad.subject, quad.object
            if not isinstance(subject, NamedNode) or not isinstance(label, Literal):
                continue
            iri = subject.value
            if fits(label.language, lang) is None or iri in properties:
                continue
            if names_no_entity(iri):
                continue
            if not iri.startswith(ENTITY) and _is_article(store, subject):
                continue
            yield subject, label.value


def _is_article(store: Store, subject: NamedNode) -> bool:
    """Whether it is a page about an entity of Wikidata; the entity has that name itself."""
    from pyoxigraph import NamedNode

    about = (q.object for q in store.quads_for_pattern(subject, NamedNode(ABOUT), None))
    return any(isinstance(one, NamedNode) and one.value.startswith(ENTITY) for one in about)


def _articles(store: Store) -> Iterator[str]:
    """The addresses of pages about entities of Wikidata."""
    from pyoxigraph import NamedNode

    for quad in store.quads_for_pattern(None, NamedNode(ABOUT), None):
        page, about = quad.subject, quad.object
        if not isinstance(page, NamedNode) or page.value.startswith(ENTITY):
            continue
        if isinstance(about, NamedNode) and about.value.startswith(ENTITY):
            yield page.value


def _properties(store: Store) -> set[str]:
    from pyoxigraph import NamedNode

    subjects = [q.subject for q in store.quads_for_pattern(None, NamedNode(DIRECT_CLAIM), None)]
    for kind in PROPERTY_TYPES:
        quads = store.quads_for_pattern(None, NamedNode(RDF_TYPE), NamedNode(kind))
        subjects += [q.subject for q in quads]
    return {one.value for one in subjects if isinstance(one, NamedNode)}
