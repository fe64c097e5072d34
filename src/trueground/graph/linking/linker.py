"""Questions → entities: names, candidates, their subgraphs, the best of each (KaLMA, section 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

import msgspec

from trueground.graph.base import Entity, KnowledgeGraph, NamedEntity, id_order
from trueground.graph.folding import fold, name_key, nfc
from trueground.graph.linking.recognizers import (
    Mention,
    Recognizer,
    get_recognizer,
    has_type,
    stands_alone,
)
from trueground.options import Progress, no_progress
from trueground.types import Graph

Span = tuple[int, int]
Sought = tuple[tuple[str, ...], tuple[str, ...]]  # names to look for, types
T = TypeVar("T")
R = TypeVar("R")
_ASKED = 1_000  # names, or ids, that a graph is asked for at once
_QUESTIONS = 10_000  # questions whose names are looked for together


class FoundEntity(msgspec.Struct, frozen=True):
    """A name in a question and its entity.

    `matched` are the values of the entity that stand in the question besides the name; `candidates`
    is the number of entities with that name that it was chosen from.
    """

    name: str
    start: int
    end: int
    entity: Entity
    matched: tuple[str, ...] = ()
    candidates: int = 1

    @property
    def qid(self) -> str:
        """The entity's id."""
        return self.entity.qid


class LinkedQuestion(msgspec.Struct, frozen=True):
    """A question in NFC and its entities, in the order of their names in it.

    `unlinked` are names in it for which the graph has no entity, or none of the right type.
    """

    question: str
    found: tuple[FoundEntity, ...] = ()
    unlinked: tuple[str, ...] = ()

    @property
    def qids(self) -> tuple[str, ...]:
        """The ids of its entities."""
        return tuple(one.qid for one in self.found)

    def graphs(self) -> list[Graph]:
        """The one-hop subgraphs, as records and prompts hold them."""
        return [one.entity.graph() for one in self.found]


class Linker:
    """Finds the entities of a graph that questions name.

    `recognizer` is written as a user writes it, or is one; `types` are names or ids of classes of
    which an entity must have one ("human"). Raises what `get_recognizer` raises.
    """

    def __init__(
        self,
        graph: KnowledgeGraph,
        recognizer: str | Recognizer = "dictionary",
        types: Sequence[str] = (),
    ) -> None:
        self.graph = graph
        self.types = tuple(types)
        self.recognizer = (
            get_recognizer(recognizer, graph, self.types)
            if isinstance(recognizer, str)
            else recognizer
        )

    def link(
        self, questions: Sequence[str], progress: Progress = no_progress
    ) -> list[LinkedQuestion]:
        """The entities of each question, in its order; at most one for a name, and each once.

        The graph is asked for all names of many questions at once, each name once. An entity of
        which it says nothing is no candidate. Raises GraphError, UnreachableError.
        """
        linked: list[LinkedQuestion] = []
        left = iter(questions)
        progress("link", 0, len(questions))
        while part := [nfc(one) for one in islice(left, _QUESTIONS)]:
            mentions = self.recognizer.mentions(part)
            named = self._candidates(mentions)
            qids = list(dict.fromkeys(qid for some in named.values() for qid in some))
            entities = zip(qids, _in_parts(self.graph.entities, qids), strict=True)
            read = {qid: EntityCandidate(one) for qid, one in entities if one and one.properties}
            linked += [_linked(*pair, named, read) for pair in zip(part, mentions, strict=True)]
            progress("link", len(linked), len(questions))
        return linked

    def _candidates(
        self, mentions: Iterable[Iterable[Mention]]
    ) -> dict[Sought, dict[str, NamedEntity]]:
        """For each different name (its place left out) what has it and is of the right type."""
        sought = {(one.names, one.types): one.known for own in mentions for one in own}
        asked = (names for (names, _), known in sought.items() if known is None)
        names = list(dict.fromkeys(name for several in asked for name in several))
        found = dict(zip(names, _in_parts(self.graph.find, names), strict=True))
        candidates: dict[Sought, dict[str, NamedEntity]] = {}
        for (several, types), known in sought.items():
            some = known if known is not None else [one for name in several for one in found[name]]
            candidates[several, types] = {
                one.qid: one
                for one in some
                # What the graph gives no class may be of any that a recognizer wants.
                if (not types or not one.types or has_type(one, types))
                and (not self.types or has_type(one, self.types))
            }
        return candidates


def _in_parts(ask: Callable[[Sequence[T]], list[R]], wanted: Sequence[T]) -> Iterator[R]:
    for low in range(0, len(wanted), _ASKED):
        yield from ask(wanted[low : low + _ASKED])


def _linked(
    question: str,
    mentions: Sequence[Mention],
    named: dict[Sought, dict[str, NamedEntity]],
    read: dict[str, EntityCandidate],
) -> LinkedQuestion:
    ranked = RankedQuestion(question)
    by_name: dict[str, list[Mention]] = {}
    for mention in mentions:
        by_name.setdefault(name_key(mention.text), []).append(mention)
    found: dict[str, FoundEntity] = {}
    unlinked: list[str] = []
    for same in by_name.values():
        first, places = same[0], [(one.start, one.end) for one in same]
        candidates = [read[qid] for qid in named[first.names, first.types] if qid in read]
        if not candidates:
            unlinked.append(first.text)
            continue
        matched = [(one, ranked.matched(one, places)) for one in candidates]
        best, values = min(matched, key=lambda pair: pair[0].order(pair[1]))
        one = FoundEntity(first.text, first.start, first.end, best.entity, values, len(candidates))
        found.setdefault(one.qid, one)
    return LinkedQuestion(question, tuple(found.values()), tuple(unlinked))


class EntityCandidate:
    """An entity, and its values as they are looked for in any number of questions.

    Entities with one name are ranked by what of them stands in the question (KaLMA, section 3.2).
    """

    def __init__(self, entity: Entity) -> None:
        self.entity = entity
        texts = [value.text for values in entity.properties.values() for value in values]
        self.triples = len(texts)
        self.values: dict[str, str] = {}  # folded → as the graph has it
        for text in texts:
            if key := name_key(text):
                self.values.setdefault(key, text)

    def order(self, matched: Sequence[str]) -> tuple[int, int, tuple[str, int, str]]:
        """Key of sorting, the best first: most values in the question; most triples; then by id.

        An id with the smaller number is first: mostly the entity that was there longer.
        """
        return -len(matched), -self.triples, id_order(self.entity.qid)


class RankedQuestion:
    """A question (in NFC) in which values are looked for."""

    def __init__(self, question: str) -> None:
        self.question = question
        self._folded = fold(question)

    def matched(self, candidate: EntityCandidate, places: Sequence[Span]) -> tuple[str, ...]:
        """The different values of the entity in the question, in the entity's order.

        On word boundaries, whatever their case; what overlaps the name, whose `places` these are,
        does not count: every Stephen Crane has the given name Stephen.
        """
        text = self._folded.text
        there = [key for key in candidate.values if key in text]
        return tuple(candidate.values[key] for key in there if self._has(key, places))

    def _has(self, key: str, places: Sequence[Span]) -> bool:
        at = -1
        while (at := self._folded.text.find(key, at + 1)) >= 0:
            if (place := self._folded.place(at, at + len(key))) is not None:
                start, end = place
                inside = any(start < last and first < end for first, last in places)
                if not inside and stands_alone(self.question, start, end):
                    return True
        return False
