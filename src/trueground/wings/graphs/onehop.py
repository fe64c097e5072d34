"""One-hop subgraphs from RDF terms, alike whether a store or an endpoint gave them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from trueground.wings.graphs.base import Entity, PropertyValue, id_order
from trueground.wings.graphs.rdf import (
    ALIAS,
    ENTITY,
    LABELS,
    NOT_SHOWN,
    OWN_ENTITY,
    TYPES,
    UNKNOWN,
    language_rank,
    property_name,
    qid_of,
)

_TAKEN = ("qid", "name")  # what a graph of a record calls other things
_LAST = 9  # the rank of a name in a language that nobody asked for
_HIDDEN = frozenset(one for one in NOT_SHOWN if not one.endswith(("/", "#")))
_HIDDEN_SPACES = tuple(one for one in NOT_SHOWN if one.endswith(("/", "#")))
Said = Mapping[str, Sequence[Any]]  # the terms of each predicate


class EntityReader(ABC):
    """Makes entities of the terms that a graph has, for readers of one language.

    An address is of the class `node` and has `value`; a text is of the class `literal`, and has
    `value` and `language` (None, or a tag). Other terms are passed over. `last_resort` is the
    language of names where nothing else names a thing.
    """

    def __init__(self, lang: str, node: Any, literal: Any, last_resort: str | None = None) -> None:
        self.node, self.literal = node, literal
        self._lang, self._last_resort = lang.lower(), last_resort

    @abstractmethod
    def label(self, iri: str) -> str | None:
        """The best label of a thing."""

    @abstractmethod
    def is_described(self, iri: str) -> bool:
        """Whether the graph says anything of it."""

    @abstractmethod
    def describers(self, predicate: str) -> Iterable[str]:
        """The addresses whose labels name a property, the best first."""

    @abstractmethod
    def literal_value(self, term: Any) -> PropertyValue | None:
        """The value of a literal; None for one that says nothing."""

    def texts(self, said: Said, predicates: Iterable[str], last_resort: str | None) -> list[str]:
        """The texts that serve the language, the best first."""
        return [
            text
            for predicate in predicates
            if predicate in said
            for text in self.fitting(said[predicate], last_resort)
        ]

    def fitting(self, terms: Iterable[Any], last_resort: str | None = None) -> list[str]:
        """Of the texts of one predicate those that serve the language, the best first."""
        ranked = []
        for term in terms:
            if isinstance(term, self.literal):
                rank = language_rank(term.language, self._lang)
                if rank is None and last_resort and term.language == last_resort:
                    rank = _LAST
                if rank is not None and (text := term.value).strip():
                    ranked.append((rank, text))
        if len(ranked) > 1:
            ranked.sort()
        return [text for _, text in ranked]

    def classes(self, terms: Iterable[Any]) -> tuple[str, ...]:
        """Names and ids of classes, by id; each term is the address of a class, or its name."""
        found = set()
        for term in terms:
            if isinstance(term, self.node):
                found.add((term.value, ""))
            elif isinstance(term, self.literal) and self._serves(term):
                found.add(("", term.value))
        return self.class_names(frozenset(found))

    def class_names(self, classes: frozenset[tuple[str, str]]) -> tuple[str, ...]:
        """The same of addresses and names, one of which is empty."""
        pairs = {
            (qid_of(iri), self.label(iri) or "") if iri else ("", name) for iri, name in classes
        }
        ordered = sorted(pairs, key=lambda pair: (id_order(pair[0]), pair[1]))
        both = (text for qid, name in ordered for text in (name, qid))
        return tuple(dict.fromkeys(text for text in both if text.strip() and UNKNOWN not in text))

    def property(self, predicate: str) -> str | None:
        """The name of a property: its first label, else its address' end; never "qid" or "name".

        None for a predicate that is not shown.
        """
        if predicate in _HIDDEN or predicate.startswith(_HIDDEN_SPACES):
            return None
        own = property_name(predicate)
        labels = (self.label(one) for one in self.describers(predicate))
        name = next((label for label in labels if label), own)
        return f"{name} ({own if own != name else predicate})" if name in _TAKEN else name

    def node_value(self, iri: str) -> PropertyValue | None:
        """An address as the value of a property; None for one that stands for nobody knows what."""
        if UNKNOWN in iri:
            return None
        label = self.label(iri)
        if (
            label is None
            and not iri.startswith((ENTITY, OWN_ENTITY))
            and not self.is_described(iri)
        ):
            return PropertyValue(iri, "other")
        qid = qid_of(iri)
        return PropertyValue(label or qid, "entity", id=qid)

    def entity(self, iri: str, said: Said, named: Said | None = None) -> Entity:
        """The entity of all that is said of it; `named` holds its names where they are apart."""
        named = said if named is None else named
        labels = self.texts(named, LABELS, self._last_resort)
        name = labels[0] if labels else qid_of(iri)
        others = labels if self._last_resort is None else self.texts(named, LABELS, None)
        aliases = {*others, *self.texts(named, (ALIAS,), None)} - {name}
        values: dict[str, list[PropertyValue]] = {}
        for predicate, terms in said.items():
            shown = self.property(predicate)
            if shown is not None and (some := self._values(terms)):
                # What has two addresses and one name stands together.
                values[shown] = values[shown] + some if shown in values else some
        return Entity(
            qid=qid_of(iri),
            name=name,
            properties={shown: _in_order(values[shown]) for shown in sorted(values)},
            aliases=tuple(sorted(aliases)),
            types=self.classes(term for one in TYPES for term in said.get(one, ())),
        )

    def _serves(self, term: Any) -> bool:
        return language_rank(term.language, self._lang) is not None

    def _values(self, terms: Iterable[Any]) -> list[PropertyValue]:
        """Texts in other languages count only where none serves."""
        values: list[PropertyValue] = []
        others: list[PropertyValue] = []
        for term in terms:
            if isinstance(term, self.node):
                if (value := self.node_value(term.value)) is not None:
                    values.append(value)
            elif isinstance(term, self.literal) and term.value.strip():
                value = self.literal_value(term)
                if value is not None:
                    (values if self._serves(term) else others).append(value)
        return values or others


def _in_order(values: Collection[PropertyValue]) -> tuple[PropertyValue, ...]:
    """Each once, by their texts."""
    if len(values) == 1:
        return tuple(values)
    return tuple(sorted(set(values), key=lambda value: (value.text, value.id or "", value.kind)))
