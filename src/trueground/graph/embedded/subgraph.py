"""What a store says of one entity: its names, its classes and its one-hop subgraph."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from trueground.graph.base import Entity, PropertyValue
from trueground.graph.folding import name_key
from trueground.graph.literals import fits, literal_value
from trueground.graph.onehop import called, called_classes, in_order
from trueground.graph.rdf import (
    ALIAS,
    DIRECT,
    DIRECT_CLAIM,
    ENTITY,
    LABELS,
    NOT_SHOWN,
    OWN_ENTITY,
    TYPES,
    UNKNOWN,
    qid_of,
)

if TYPE_CHECKING:
    from pyoxigraph import BlankNode, Literal, NamedNode, Store, Triple

    Term = NamedNode | BlankNode | Literal | Triple

_KEPT = 50_000  # names of entities that are remembered
_NOT_SHOWN = {one for one in NOT_SHOWN if not one.endswith(("/", "#"))}
_PREFIXES = tuple(one for one in NOT_SHOWN if one.endswith(("/", "#")))
Found = dict[str, list["Term"]]


class Subgraphs:
    """Reads entities from a store, for readers of one language; names are remembered."""

    def __init__(self, store: Store, lang: str) -> None:
        from pyoxigraph import DefaultGraph, Literal, NamedNode

        self._store = store
        self._lang = lang.lower()
        # An import inside a function costs as much as the function does.
        self._node, self._literal = NamedNode, Literal
        self._here = DefaultGraph()  # all triples are there, and it is read in half the time
        self._labels = self._used(LABELS)
        self._names = self._used((*LABELS, ALIAS))
        self._types = self._used(TYPES)
        self._direct_claim = NamedNode(DIRECT_CLAIM)
        self._property = lru_cache(None)(self._property_name)
        # What many entities name is read once.
        self.label = lru_cache(_KEPT)(self._label)
        self._shown_value = lru_cache(_KEPT)(self._node_value)
        self._class_names = lru_cache(_KEPT)(self._names_of_classes)

    def close(self) -> None:
        """Let the store go. What is remembered holds it too, in a circle."""
        self.__dict__.clear()

    def entity(self, iri: str) -> Entity | None:
        """The entity; None where the store has nothing of it."""
        found = self._about(iri)
        if not found:
            return None
        names = self._texts(found, LABELS)
        name = names[0] if names else qid_of(iri)
        aliases = dict.fromkeys(sorted({*names, *self._texts(found, (ALIAS,))} - {name}))
        return Entity(
            qid=qid_of(iri),
            name=name,
            properties=self._properties(found),
            aliases=tuple(aliases),
            types=self._classes(term for one in TYPES for term in found.get(one, ())),
        )

    def types(self, iri: str) -> tuple[str, ...]:
        """Names and ids of its classes."""
        subject = self._node(iri)
        return self._classes(
            term for predicate in self._types for term in self._objects(subject, predicate)
        )

    def spelt(self, iri: str, name: str) -> str:
        """The name or alias of the entity that equals `name` but for case, as the store has it."""
        key, subject = name_key(name), self._node(iri)
        for predicate in self._names:
            for text in self._fitting(self._objects(subject, predicate)):
                if name_key(text) == key:
                    return text
        return name

    def _used(self, predicates: Iterable[str]) -> list[NamedNode]:
        """Those of the predicates that the store has at all."""
        quads = {
            one: self._store.quads_for_pattern(None, one, None, self._here)
            for one in map(self._node, predicates)
        }
        return [one for one, found in quads.items() if next(found, None) is not None]

    def _objects(self, subject: NamedNode, predicate: NamedNode) -> list[Term]:
        quads = self._store.quads_for_pattern(subject, predicate, None, self._here)
        return [quad.object for quad in quads]

    def _about(self, iri: str) -> Found:
        try:
            subject = self._node(iri)
        except ValueError:
            return {}
        found: Found = {}
        for quad in self._store.quads_for_pattern(subject, None, None, self._here):
            predicate = quad.predicate.value
            if predicate in found:
                found[predicate].append(quad.object)
            else:
                found[predicate] = [quad.object]
        return found

    def _texts(self, found: Found, predicates: Iterable[str]) -> list[str]:
        """The texts that serve the language, the best first."""
        return [
            text
            for predicate in predicates
            if predicate in found
            for text in self._fitting(found[predicate])
        ]

    def _fitting(self, terms: list[Term]) -> list[str]:
        """Of the texts of one predicate those that serve the language, the best first."""
        ranked = []
        for term in terms:
            if isinstance(term, self._literal):
                rank = fits(term.language, self._lang)
                if rank is not None and (text := term.value).strip():
                    ranked.append((rank, text))
        if len(ranked) > 1:
            ranked.sort()
        return [text for _, text in ranked]

    def _label(self, iri: str) -> str | None:
        subject = self._node(iri)
        for predicate in self._labels:
            if texts := self._fitting(self._objects(subject, predicate)):
                return texts[0]
        return None

    def _property_name(self, iri: str) -> str | None:
        """What it is called; None for a predicate that is not shown."""
        if iri in _NOT_SHOWN or iri.startswith(_PREFIXES):
            return None
        quads = self._store.quads_for_pattern(None, self._direct_claim, self._node(iri), self._here)
        entities = [q.subject.value for q in quads if isinstance(q.subject, self._node)]
        if iri.startswith(DIRECT):
            entities.append(ENTITY + iri[len(DIRECT) :])
        return called(iri, map(self.label, (*sorted(entities), iri)))

    def _properties(self, found: Found) -> dict[str, tuple[PropertyValue, ...]]:
        """By name; what has two addresses and one name stands together."""
        values: dict[str, list[PropertyValue]] = {}
        for predicate, terms in found.items():
            name = self._property(predicate)
            if name is not None and (some := self._values(terms)):
                values[name] = values[name] + some if name in values else some
        return {name: in_order(values[name]) for name in sorted(values)}

    def _values(self, terms: list[Term]) -> list[PropertyValue]:
        """Texts in other languages count only where none serves."""
        values: list[PropertyValue] = []
        others: list[PropertyValue] = []
        for term in terms:
            if isinstance(term, self._node):
                if (value := self._shown_value(term.value)) is not None:
                    values.append(value)
            elif isinstance(term, self._literal) and (text := term.value).strip():
                value = literal_value(text, term.datatype.value)
                fit = fits(term.language, self._lang) is not None
                (values if fit else others).append(value)
        return values or others

    def _node_value(self, iri: str) -> PropertyValue | None:
        if UNKNOWN in iri:
            return None
        label = self.label(iri)
        if label is None and not iri.startswith((ENTITY, OWN_ENTITY)):
            about = self._store.quads_for_pattern(self._node(iri), None, None, self._here)
            if next(iter(about), None) is None:
                return PropertyValue(iri, "other")
        qid = qid_of(iri)
        return PropertyValue(label or qid, "entity", id=qid)

    def _classes(self, terms: Iterable[Term]) -> tuple[str, ...]:
        """Names and ids; each term is the address of a class, or its name."""
        found = set()
        for term in terms:
            if isinstance(term, self._node):
                found.add((term.value, ""))
            elif isinstance(term, self._literal) and fits(term.language, self._lang) is not None:
                found.add(("", term.value))
        return self._class_names(frozenset(found))

    def _names_of_classes(self, classes: frozenset[tuple[str, str]]) -> tuple[str, ...]:
        return called_classes(
            (qid_of(iri), self.label(iri) or "") if iri else ("", name) for iri, name in classes
        )
