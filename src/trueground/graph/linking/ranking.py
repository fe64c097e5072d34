"""Entities with one name, re-ranked by what of them stands in the question (KaLMA, section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence

from trueground.graph.base import Entity, id_order
from trueground.graph.folding import fold, name_key
from trueground.graph.linking.boundaries import stands_alone

Span = tuple[int, int]


class EntityCandidate:
    """An entity, and its values as they are looked for in any number of questions."""

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
        text = self._folded.text
        at = text.find(key)
        while at >= 0:
            place = self._folded.place(at, at + len(key))
            if place is not None and self._counts(*place, places):
                return True
            at = text.find(key, at + 1)
        return False

    def _counts(self, start: int, end: int, places: Sequence[Span]) -> bool:
        inside = any(start < last and first < end for first, last in places)
        return not inside and stands_alone(self.question, start, end)
