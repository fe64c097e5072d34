"""A small invented graph in a real store: namesakes, aliases, classes, awkward names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyoxigraph import Literal, NamedNode, Quad, Store

from trueground.wings.graphs.base import Entity, NamedEntity
from trueground.wings.graphs.embedded import EmbeddedGraph, index_names
from trueground.wings.graphs.rdf import ALIAS, INSTANCE_OF, LABELS, entity_iri, property_iri

Facts = dict[str, str | list[str]]
HUMAN, SHIP = ("Q5", "human"), ("Q11446", "ship")

# Two Anna Rucks, of whom one led an expedition and one sings; a ship has a person's name too.
PEOPLE: list[tuple[str, str, tuple[str, str], list[str], Facts]] = [
    (
        "Q10",
        "Anna Ruck",
        HUMAN,
        ["Ruck of Korvik", "He"],
        {
            "given name": "Anna",
            "surname": "Ruck",
            "place of birth": "Korvik",
            "occupation": "explorer",
            "spouse": "Ede Holm",
        },
    ),
    (
        "Q2",
        "Anna Ruck",
        HUMAN,
        [],
        {"given name": "Anna", "occupation": "singer", "instrument": ["lute", "voice"]},
    ),
    (
        "Q7",
        "Anna Ruck",
        SHIP,
        [],
        {
            "home port": "Korvik",
            "shipyard": "Ulm",
            "owner": "Brandt",
            "length": "40",
            "mast": "two",
        },
    ),
    ("Q20", "Ede Holm", HUMAN, ["Holm"], {"occupation": "architect", "spouse": "Anna Ruck"}),
    ("Q21", "Jean-Luc O’Dell", HUMAN, [], {"occupation": "painter"}),
    ("Q22", "Ede Holm Society", ("Q43229", "organization"), [], {"founded by": "Ede Holm"}),
    ("Q23", "art", ("Q735", "genre"), [], {"part of": "culture"}),
    ("Q24", "Who", ("Q215380", "band"), ["WHO"], {"member": "Orla Brandt"}),
    ("Q25", "Órla  Brandt", HUMAN, [], {"occupation": "sailor"}),
    ("Q26", "literary realism", ("Q968159", "movement"), [], {"country": "Oster"}),
    ("Q27", "李安", HUMAN, [], {"occupation": "director"}),
    ("Q28", "Korvik", ("Q515", "city"), [], {}),  # nothing is said of it
]


def graph_of(people: Iterable[tuple[str, str, tuple[str, str], list[str], Facts]]) -> EmbeddedGraph:
    """An embedded graph of (id, name, (class id, class name), aliases, facts)."""
    store = Store()
    label = NamedNode(LABELS[0])
    for qid, name, (kind, kind_name), aliases, facts in people:
        node, of_kind = NamedNode(entity_iri(qid)), NamedNode(entity_iri(kind))
        store.add(Quad(node, label, Literal(name, language="en")))
        if facts:
            store.add(Quad(node, NamedNode(INSTANCE_OF), of_kind))
            store.add(Quad(of_kind, label, Literal(kind_name, language="en")))
        for alias in aliases:
            store.add(Quad(node, NamedNode(ALIAS), Literal(alias, language="en")))
        for name_, values in facts.items():
            for value in values if isinstance(values, list) else [values]:
                store.add(Quad(node, NamedNode(property_iri(name_)), Literal(value)))
    index_names(store, "en")
    return EmbeddedGraph(store, name="invented", signature="invented")


class Counting:
    """A graph that counts how often, and for how much, it was asked; no names to list."""

    is_local = True

    def __init__(self, graph: EmbeddedGraph) -> None:
        self._graph = graph
        self.name, self.signature = graph.name, graph.signature
        self.found: list[list[str]] = []
        self.read: list[list[str]] = []

    def find(self, names: Sequence[str]) -> list[list[NamedEntity]]:
        self.found.append(list(names))
        return self._graph.find(names)

    def entities(self, qids: Sequence[str]) -> list[Entity | None]:
        self.read.append(list(qids))
        return self._graph.entities(qids)

    def find_joined(self, heads: Sequence[str], tails: Sequence[str]) -> list[tuple[str, str]]:
        return self._graph.find_joined(heads, tails)

    def close(self) -> None:
        self._graph.close()
