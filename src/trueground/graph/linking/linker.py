"""Questions → entities: names, candidates, their subgraphs, the best of each (KaLMA, section 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from trueground.graph.base import KnowledgeGraph, NamedEntity
from trueground.graph.folding import name_key, nfc
from trueground.graph.linking.base import FoundEntity, LinkedQuestion, Mention, Recognizer
from trueground.graph.linking.ranking import EntityCandidate, RankedQuestion, Span
from trueground.graph.linking.recognizers import get_recognizer
from trueground.graph.linking.typing import may_be, of_types
from trueground.options import Progress, no_progress

Sought = tuple[tuple[str, ...], tuple[str, ...]]  # names to look for, types
T = TypeVar("T")
R = TypeVar("R")
_ASKED = 1_000  # names, or ids, that a graph is asked for at once
_QUESTIONS = 10_000  # questions whose names are looked for together


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
            linked += self._part(part)
            progress("link", len(linked), len(questions))
        return linked

    def _part(self, questions: list[str]) -> list[LinkedQuestion]:
        mentions = self.recognizer.mentions(questions)
        named = self._named(mentions)
        qids = (one.qid for candidates in named.values() for one in candidates)
        read = self._read(qids)
        return [
            _linked(question, own, named, read)
            for question, own in zip(questions, mentions, strict=True)
        ]

    def _named(self, mentions: Iterable[Iterable[Mention]]) -> dict[Sought, list[NamedEntity]]:
        """For each different name (its place left out) its candidates."""
        sought = {_sought(one): one.known for own in mentions for one in own}
        asked = (several for (several, _), known in sought.items() if known is None)
        names = list(dict.fromkeys(name for several in asked for name in several))
        found = dict(zip(names, _in_parts(self.graph.find, names), strict=True))
        return {
            one: self._allowed(one[1], _all_of(one[0], found) if known is None else known)
            for one, known in sought.items()
        }

    def _allowed(
        self, types: Sequence[str], candidates: Iterable[NamedEntity]
    ) -> list[NamedEntity]:
        """Each candidate of the right type once."""
        by_qid = {one.qid: one for one in candidates}
        return [
            one
            for one in by_qid.values()
            if may_be(one, types) and (not self.types or of_types(one, self.types))
        ]

    def _read(self, qids: Iterable[str]) -> dict[str, EntityCandidate]:
        wanted = list(dict.fromkeys(qids))
        read = _in_parts(self.graph.entities, wanted)
        return {
            qid: EntityCandidate(entity)
            for qid, entity in zip(wanted, read, strict=True)
            if entity is not None and entity.properties
        }


def _linked(
    question: str,
    mentions: Sequence[Mention],
    named: dict[Sought, list[NamedEntity]],
    read: dict[str, EntityCandidate],
) -> LinkedQuestion:
    asked = RankedQuestion(question)
    by_name: dict[str, list[Mention]] = {}
    for mention in mentions:
        by_name.setdefault(name_key(mention.text), []).append(mention)
    found: dict[str, FoundEntity] = {}
    unlinked: list[str] = []
    for same in by_name.values():
        candidates = [read[one.qid] for one in named[_sought(same[0])] if one.qid in read]
        if not candidates:
            unlinked.append(same[0].text)
            continue
        best = _best(asked, same[0], candidates, [(one.start, one.end) for one in same])
        found.setdefault(best.qid, best)
    return LinkedQuestion(question, tuple(found.values()), tuple(unlinked))


def _best(
    asked: RankedQuestion,
    mention: Mention,
    candidates: Sequence[EntityCandidate],
    places: Sequence[Span],
) -> FoundEntity:
    matched = [asked.matched(one, places) for one in candidates]
    best, values = min(
        zip(candidates, matched, strict=True), key=lambda pair: pair[0].order(pair[1])
    )
    return FoundEntity(
        mention.text, mention.start, mention.end, best.entity, values, len(candidates)
    )


def _sought(mention: Mention) -> Sought:
    """Mentions with one of these have the same candidates."""
    return mention.names, mention.types


def _all_of(names: Iterable[str], found: dict[str, list[NamedEntity]]) -> list[NamedEntity]:
    return [one for name in names for one in found[name]]


def _in_parts(ask: Callable[[Sequence[T]], list[R]], wanted: Sequence[T]) -> Iterator[R]:
    for low in range(0, len(wanted), _ASKED):
        yield from ask(wanted[low : low + _ASKED])
