"""Names of a graph looked for in questions, all at once (Aho and Corasick 1975)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from trueground.errors import GraphError, MissingExtraError, UsageError
from trueground.graph.base import KnowledgeGraph, Listed, NamedEntity
from trueground.graph.folding import fold, name_key
from trueground.graph.linking.base import Mention
from trueground.graph.linking.boundaries import stands_alone
from trueground.graph.linking.naming import is_meant
from trueground.graph.linking.typing import of_types


class Dictionary:
    """A recognizer that knows the names and aliases of a graph's entities.

    With `types` only those of entities of these classes. Of names that overlap, the one that begins
    first is taken, of those the longest. Made once, it holds every name in memory.

    Raises UsageError: the graph cannot list its names. GraphError: it has none, or none of these
    types. MissingExtraError.
    """

    name = "dictionary"

    def __init__(self, graph: KnowledgeGraph, types: Sequence[str] = ()) -> None:
        if not isinstance(graph, Listed):
            raise UsageError(
                f"{graph.name} cannot list the names of its entities, which the recognizer "
                "dictionary looks for; use the recognizer spacy:MODEL, or a graph in a file or a "
                "folder"
            )
        self._names = _automaton(one for one in graph.names() if not types or of_types(one, types))
        if not len(self._names):
            raise GraphError(_no_names(graph.name, graph.names(), types))

    def mentions(self, questions: Sequence[str]) -> list[list[Mention]]:
        """For each question (in NFC) the names of the graph in it."""
        return [self._of(question) for question in questions]

    def _of(self, question: str) -> list[Mention]:
        folded = fold(question)
        places: list[tuple[int, int, tuple[NamedEntity, ...]]] = []
        for last, (length, known) in self._names.iter(folded.text):
            place = folded.place(last + 1 - length, last + 1)
            if place and stands_alone(question, *place) and is_meant(question, *place):
                places.append((*place, known))
        places.sort(key=lambda place: (place[0], -place[1]))
        found: list[Mention] = []
        for start, end, known in places:
            if not found or start >= found[-1].end:
                names = tuple(dict.fromkeys(one.text for one in known))
                found.append(Mention(question[start:end], start, end, names, known=known))
        return found


def _automaton(names: Iterable[NamedEntity]) -> Any:
    """Folded name → (its length, the entities that have it)."""
    try:
        import ahocorasick
    except ImportError as error:
        raise MissingExtraError("the recognizer dictionary", "graph") from error

    by_name: dict[str, list[NamedEntity]] = {}
    for one in names:
        if key := name_key(one.text):
            by_name.setdefault(key, []).append(one)
    automaton = ahocorasick.Automaton()
    while by_name:  # what went into the automaton is let go at once: there may be millions
        key, entities = by_name.popitem()
        automaton.add_word(key, (len(key), tuple(entities)))
    automaton.make_automaton()
    return automaton


def _no_names(where: str, names: Iterator[NamedEntity], types: Sequence[str]) -> str:
    known = sorted({kind for one in names for kind in one.types})
    if not types:
        return f"{where} has no entity with a name; expected labels of entities. Load some"
    shown = ", ".join(known[:20]) + (" …" if len(known) > 20 else "") or "none"
    return (
        f"{where} has no entity with a name of type {' or '.join(types)}; its types: {shown}. "
        "Name one of them, or leave the types out"
    )
