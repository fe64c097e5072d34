"""Linking: the names in questions, and the entities of a knowledge graph that they stand for.

Questions → entities: names, candidates, their subgraphs, the best of each (KaLMA, section 3); and
how well that finds what questions of a file are about (section 5.3).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from trueground.errors import InputError
from trueground.options import Progress, do_nothing
from trueground.records import DataPath, describe
from trueground.types import Graph
from trueground.wings.graphs.base import Entity, KnowledgeGraph, NamedEntity, id_order
from trueground.wings.graphs.json_graph import PAIR, array_items, decoded
from trueground.wings.graphs.names import fold, name_key, nfc
from trueground.wings.graphs.recognizers import (
    Mention,
    Recognizer,
    get_recognizer,
    has_type,
    stands_alone,
)

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
        self, questions: Sequence[str], progress: Progress = do_nothing
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


_FIELDS = ("gold", "knowledge", "gold_knowledge")
_EXPECTED = f"{PAIR} or an object with the field 'question'"


class LinkingQuestion(msgspec.Struct, frozen=True):
    """`gold` holds ids, and is None where the file says nothing of them."""

    text: str
    gold: tuple[str, ...] | None = None


def read_questions(path: Path) -> list[LinkingQuestion]:
    """Questions of a file, in its order.

    A .json file in the form of KaLMA, `[[question, [graph, …]], …]`, whose graphs' ids are gold
    (triples `[qid, property, value]` likewise); rows with `question` and, if they have it, `gold`
    (ids), `knowledge` or `gold_knowledge`, as JSON lines, a JSON array, CSV or Parquet; a .txt file
    with one question a line. Also packed. Raises InputError that names the place.
    """
    if (found_items := _array(path)) is not None:
        found = [_item(place, item) for place, item in found_items]
    else:
        found = [_row(place, row) for place, row in DataPath(path).rows(text_field="question")]
    if not found:
        raise InputError(f"{path} has no questions; expected {_EXPECTED}, or .txt, one per line")
    return found


def _array(path: Path) -> list[tuple[str, Any]] | None:
    """The items of a file that is a JSON array; None where it is none."""
    if DataPath(path).ending != ".json" or not path.is_file():
        return None
    with DataPath(path).open() as stream:
        found = array_items(stream, str(path), _EXPECTED)
        return None if found is None else list(found)


def _item(place: str, item: Any) -> LinkingQuestion:
    if isinstance(item, dict):
        return _row(place, item)
    if not isinstance(item, list) or len(item) != 2:
        raise _refused(place, item, _EXPECTED)
    return LinkingQuestion(_text(place, item[0]), _ids(place, item[1]))


def _row(place: str, row: dict[str, Any]) -> LinkingQuestion:
    text = _text(f"{place}, field 'question'", row.get("question"))
    named = next((name for name in _FIELDS if row.get(name) is not None), None)
    if named is None:
        return LinkingQuestion(text)
    place = f"{place}, field {named!r}"
    value = row[named]
    if isinstance(value, str) and value.lstrip().startswith("["):  # a cell of a table
        value = decoded(place, value.encode(), _EXPECTED)
    return LinkingQuestion(text, _ids(place, value))


def _text(place: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _refused(place, value, "a question, as text")
    return value


def _ids(place: str, values: Any) -> tuple[str, ...]:
    """The different ids of a list of ids, graphs or triples."""
    if not isinstance(values, list):
        raise _refused(place, values, "a list of ids, graphs or triples")
    ids: dict[str, None] = {}
    for number, value in enumerate(values, 1):
        one = value.get("qid") if isinstance(value, dict) else value
        one = one[0] if isinstance(one, list) and one else one
        if not isinstance(one, str) or not one.strip():
            expected = "an id, a graph with 'qid', or [qid, property, value]"
            raise _refused(f"{place}, number {number}", value, expected)
        ids[one.strip()] = None
    return tuple(ids)


def _refused(place: str, found: Any, expected: str) -> InputError:
    return InputError(f"{place}: found {describe(found)}; expected {expected}. Fix the file")


class Retrieval(msgspec.Struct, frozen=True):
    """Entities found against gold ones; a share is None where it has no denominator.

    `correct`, `found` and `gold` count entities; precision = correct / found, recall = correct /
    gold, F1 their harmonic mean. The macro values are means over the questions for which anything
    was found (precision) or that have gold entities (recall), and the harmonic mean of the two.
    `exact` counts the questions with just the gold entities, none included.
    """

    questions: int
    correct: int
    found: int
    gold: int
    exact: int
    precision: float | None
    recall: float | None
    f1: float | None
    macro_precision: float | None
    macro_recall: float | None
    macro_f1: float | None


class LinkedQuestions(msgspec.Struct, frozen=True):
    """The questions of a file, as they stand there, with their entities.

    `graph` and `signature` name the graph; `retrieval` is None where the file has no gold ids.
    """

    graph: str
    signature: str
    recognizer: str
    types: tuple[str, ...]
    texts: tuple[str, ...]
    linked: tuple[LinkedQuestion, ...]
    retrieval: Retrieval | None

    def as_dict(self) -> dict[str, Any]:
        """All but the subgraphs, for JSON."""
        links = [
            {
                "question": one.question,
                "found": [
                    {
                        "name": found.name,
                        "start": found.start,
                        "end": found.end,
                        "qid": found.qid,
                        "label": found.entity.name,
                        "matched": found.matched,
                        "candidates": found.candidates,
                    }
                    for found in one.found
                ],
                "unlinked": one.unlinked,
            }
            for one in self.linked
        ]
        return {
            "graph": self.graph,
            "signature": self.signature,
            "recognizer": self.recognizer,
            "types": self.types,
            "links": links,
            "retrieval": None if self.retrieval is None else msgspec.to_builtins(self.retrieval),
        }


def retrieval(
    linked: Sequence[LinkedQuestion], gold: Sequence[Collection[str] | None]
) -> Retrieval:
    """Precision and recall of entities. A question whose gold is None is left out.

    Each question counts an id once. ValueError where the two are not equally many.
    """
    pairs = [
        (set(one.qids), set(wanted))
        for one, wanted in zip(linked, gold, strict=True)
        if wanted is not None
    ]
    correct = sum(len(got & wanted) for got, wanted in pairs)
    found = sum(len(got) for got, _ in pairs)
    wanted_all = sum(len(wanted) for _, wanted in pairs)
    precision, recall = _share(correct, found), _share(correct, wanted_all)
    macro_precision = _mean([len(got & wanted) / len(got) for got, wanted in pairs if got])
    macro_recall = _mean([len(got & wanted) / len(wanted) for got, wanted in pairs if wanted])
    return Retrieval(
        questions=len(pairs),
        correct=correct,
        found=found,
        gold=wanted_all,
        exact=sum(got == wanted for got, wanted in pairs),
        precision=precision,
        recall=recall,
        f1=_harmonic(precision, recall),
        macro_precision=macro_precision,
        macro_recall=macro_recall,
        macro_f1=_harmonic(macro_precision, macro_recall),
    )


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _harmonic(a: float | None, b: float | None) -> float | None:
    if a is None or b is None:
        return None
    return 2 * a * b / (a + b) if a + b else 0.0
