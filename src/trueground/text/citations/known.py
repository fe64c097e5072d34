"""What the graphs of an answer have, laid out for finding it at a place of a text.

The texts that are searched are those of `brackets.searched`; in the `view` of one each `_` is a
space too, which is how names of properties are compared.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, TypeVar

from trueground.text.citations.brackets import searched
from trueground.text.citations.triples import ids_by_name, pairs_of, plain, plain_property
from trueground.types import Graph

T = TypeVar("T")
_COLON = re.compile(r" ?: ?")
_NAME = re.compile(r"name ?: ?", re.IGNORECASE)


class Texts(Generic[T]):
    """Things by their texts, to be found at a place; as quick with a thousand texts as with one."""

    def __init__(self) -> None:
        self._by: dict[str, T] = {}
        self._lengths: list[int] = []

    def add(self, text: str, thing: T) -> T:
        """Keep the thing under this text, unless one is there; the one that is kept."""
        if text not in self._by and len(text) not in self._lengths:
            self._lengths = sorted((*self._lengths, len(text)), reverse=True)
        return self._by.setdefault(text, thing)

    def at(self, text: str, place: int) -> Iterator[tuple[T, int]]:
        """The things with whose texts this one goes on, and where these end, longest first."""
        for length in self._lengths:
            thing = self._by.get(text[place : place + length])
            if thing is not None:
                yield thing, place + length


@dataclass(eq=False)
class Property:
    """A property as the graph spells it, and its values by their plain forms."""

    name: str
    values: Texts[str] = field(default_factory=Texts)

    def add(self, value: str) -> None:
        """A backslash at its end may stand before the end of a bracket, and is not seen then."""
        text = searched(plain(value))
        self.values.add(text, value)
        self.values.add(text.rstrip("\\"), value)


class Facts:
    """The properties, values and names of some graphs."""

    def __init__(self, graphs: Iterable[Graph]) -> None:
        self._found: dict[str, Property] = {}
        self.names: Texts[str] = Texts()
        for graph in graphs:
            for name, value in pairs_of(graph):
                if name not in self._found:
                    self._found[name] = Property(name)
                self._found[name].add(value)
                if name == "name":
                    self.names.add(searched(plain(value)), value)
        self._spelt: Texts[list[Property]] = Texts()
        self._plain: dict[str, str] = {}
        for name, each in self._found.items():
            self._plain.setdefault(plain_property(name), name)
            # As it is written, where runs of spaces and "_" are kept, and in plain form.
            seen = searched(plain(name))
            for spelling in {seen.replace("_", " "), plain_property(seen)} - {""}:
                self._spelt.add(spelling, []).append(each)

    def properties_at(self, text: str, view: str, place: int) -> list[tuple[Property, int]]:
        """The properties with which the text goes on, and where their values begin.

        One that is spelt just so comes first; `name` may be written in large letters.
        """
        found = [
            (each, colon.end())
            for several, end in self._spelt.at(view, place)
            if (colon := _COLON.match(text, end))
            for each in several
        ]
        if not found and (name := _NAME.match(text, place)):
            found = [(each, name.end()) for each in self.named("name")]
        if len(found) > 1:
            found.sort(key=lambda one: not text.startswith(plain(one[0].name), place))
        return found

    def named(self, name: str) -> list[Property]:
        """The property that is spelt just so, or none."""
        return [self._found[name]] if name in self._found else []

    def spelt(self, name: str) -> str | None:
        """The property as the graphs spell it, None where they have none of that name."""
        return self._plain.get(plain_property(name))


class Known:
    """The graphs of an answer, by their ids."""

    def __init__(self, graphs: Sequence[Graph]) -> None:
        self._graphs: dict[str, list[Graph]] = defaultdict(list)
        for graph in graphs:
            qid = plain(str(graph.get("qid", "")))
            if qid:
                self._graphs[qid].append(graph)
        self._ids: Texts[str] = Texts()
        for qid in self._graphs:
            self._ids.add(searched(qid), qid)
        self._facts: dict[str, Facts] = {}

    @property
    def given(self) -> bool:
        """Whether there is any graph."""
        return bool(self._graphs)

    def ids_at(self, text: str, place: int) -> Iterator[tuple[str, int]]:
        """The ids with which the text goes on, and where they end, the longest first."""
        return self._ids.at(text, place)

    def spelt(self, qid: str) -> str:
        """The id as its graph spells it, else as it is."""
        graphs = self._graphs.get(qid)
        return str(graphs[0]["qid"]) if graphs else qid

    def has_name(self, words: str) -> bool:
        """Whether a graph is called so, in large or small letters; "Bell" is a part of a name."""
        said = plain(words).casefold()
        part = words.strip()[:1].isupper() and self._name_words.issuperset(said.split())
        return said in self._names or part

    def has_property(self, name: str) -> bool:
        """Whether some graph has it, in large or small letters."""
        return plain_property(name).casefold() in self._properties

    def of(self, qid: str) -> Facts:
        """What the graphs of this id have; nothing where there are none."""
        if qid not in self._facts:
            self._facts[qid] = Facts(self._graphs.get(qid, ()))
        return self._facts[qid]

    @cached_property
    def _names(self) -> dict[str, set[str]]:
        return ids_by_name(graph for graphs in self._graphs.values() for graph in graphs)

    @cached_property
    def _name_words(self) -> frozenset[str]:
        return frozenset(word for name in self._names for word in re.findall(r"\w+", name))

    @cached_property
    def _properties(self) -> frozenset[str]:
        return frozenset(  # those without a value too: they are shown
            plain_property(name).casefold()
            for graphs in self._graphs.values()
            for graph in graphs
            for name in graph
            if name != "qid"
        )

    @cached_property
    def all(self) -> Facts:
        """What all graphs have together."""
        return Facts(graph for graphs in self._graphs.values() for graph in graphs)
