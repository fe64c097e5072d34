"""Triples of a knowledge graph as texts: equality, citation, and finding them in an answer.

Definitions: metrics.md, "Citations of knowledge-graph triples".
"""

from __future__ import annotations

import builtins
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

from trueground.types import Graph

T = TypeVar("T")
_COLON = re.compile(r" ?: ?")
_NAME = re.compile(r"name ?: ?", re.IGNORECASE)


def plain(text: str) -> str:
    """NFC, white space collapsed: equal texts are equal after this."""
    return " ".join(unicodedata.normalize("NFC", text).split())


class GraphTriple(NamedTuple):
    """A triple of a knowledge graph: the id of an entity, a property and a value."""

    qid: str
    property: str
    value: str

    @classmethod
    def of(cls, qid: str, name: str, value: Any) -> GraphTriple:
        """Return the triple of a value as it is in a graph: a text, a number or a bool."""
        return cls(qid, name, _format_value(value))

    @classmethod
    def of_graph(cls, graph: Graph) -> Iterator[GraphTriple]:
        """Yield the triples of a graph, each value by itself, `name` among them.

        Empty values are no triples. The id is "" if the graph has none.
        """
        qid = str(graph.get("qid", ""))
        for name, value in pairs_of(graph):
            yield cls(qid, name, value)

    @classmethod
    def keys_of(cls, graphs: Iterable[Graph]) -> frozenset[GraphTriple]:
        """Return the keys of all triples of the graphs."""
        keys = set()
        for graph in graphs:
            qid = plain(str(graph.get("qid", "")))
            for name, value in pairs_of(graph):
                keys.add(cls(qid, cls.plain_property(name), plain(value)))
        return frozenset(keys)

    @staticmethod
    def plain_property(name: str) -> str:
        """Return a property's name in plain form, in which `_` is a space."""
        return plain(name.replace("_", " "))

    @builtins.property
    def key(self) -> GraphTriple:
        """The triple in plain form. Triples are equal if their keys are."""
        return GraphTriple(plain(self.qid), self.plain_property(self.property), plain(self.value))

    @builtins.property
    def statement(self) -> str:
        """The triple as a statement, `property: value` (Li et al. 2024, section 4.3)."""
        return f"{self.plain_property(self.property)}: {plain(self.value)}"

    @builtins.property
    def citation(self) -> str:
        """The bracket that cites the triple: `[qid, property: value]`."""
        return f"[{self.qid}, {self.property}: {self.value}]"


def _format_value(value: Any) -> str:
    """A value of a graph as it is in a citation."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def pairs_of(graph: Graph) -> Iterator[tuple[str, str]]:
    """Property and value of each triple of a graph; see `GraphTriple.of_graph`."""
    for name, value in graph.items():
        if name == "qid":
            continue
        for one in value if isinstance(value, list) else [value]:
            text = "" if one is None else _format_value(one)
            if text.strip():
                yield name, text


def format_graph(graph: Graph) -> str:
    """A graph in one line, as a model is shown it: `{qid: …, name: …, property: value, …}`.

    Several values of a property stand one after the other, each with the property's name.
    """
    own = [("qid", str(graph["qid"]))]
    named = [(n, v) for n, v in pairs_of(graph) if n == "name"]
    rest = [(n, v) for n, v in pairs_of(graph) if n != "name"]
    return "{" + ", ".join(f"{name}: {value}" for name, value in own + named + rest) + "}"


# The texts that are searched below are those of `flatten`; in the `view` of one each `_` is a space
# too, which is how names of properties are compared.


class TextIndex(Generic[T]):
    """Values by their texts, to be found at a place; as quick with a thousand texts as with one."""

    def __init__(self) -> None:
        self._by_text: dict[str, T] = {}
        self._lengths: list[int] = []

    def add(self, text: str, value: T) -> T:
        """Keep the value under this text, unless one is there; the one that is kept."""
        if text not in self._by_text and len(text) not in self._lengths:
            self._lengths = sorted((*self._lengths, len(text)), reverse=True)
        return self._by_text.setdefault(text, value)

    def at(self, text: str, place: int) -> Iterator[tuple[T, int]]:
        """The values whose texts stand at this place, and where these end, longest first."""
        for length in self._lengths:
            value = self._by_text.get(text[place : place + length])
            if value is not None:
                yield value, place + length


@dataclass(eq=False)
class GraphProperty:
    """A property as the graph spells it, and its values by their plain forms."""

    name: str
    values: TextIndex[str] = field(default_factory=TextIndex)

    def add(self, value: str) -> None:
        """A backslash at its end may stand before the end of a bracket, and is not seen then."""
        text = flatten(plain(value))
        self.values.add(text, value)
        self.values.add(text.rstrip("\\"), value)


class GraphFacts:
    """The properties, values and names of some graphs."""

    def __init__(self, graphs: Iterable[Graph]) -> None:
        self._properties: dict[str, GraphProperty] = {}
        self.names: TextIndex[str] = TextIndex()
        for graph in graphs:
            for name, value in pairs_of(graph):
                if name not in self._properties:
                    self._properties[name] = GraphProperty(name)
                self._properties[name].add(value)
                if name == "name":
                    self.names.add(flatten(plain(value)), value)
        self._spellings: TextIndex[list[GraphProperty]] = TextIndex()
        self._plain: dict[str, str] = {}
        for name, each in self._properties.items():
            self._plain.setdefault(GraphTriple.plain_property(name), name)
            # As it is written, where runs of spaces and "_" are kept, and in plain form.
            seen = flatten(plain(name))
            for spelling in {seen.replace("_", " "), GraphTriple.plain_property(seen)} - {""}:
                self._spellings.add(spelling, []).append(each)

    def properties_at(self, text: str, view: str, place: int) -> list[tuple[GraphProperty, int]]:
        """The properties that stand at this place, and where their values begin.

        One that is spelled just so comes first; `name` may be written in large letters.
        """
        results = [
            (each, colon.end())
            for several, end in self._spellings.at(view, place)
            if (colon := _COLON.match(text, end))
            for each in several
        ]
        if not results and (name := _NAME.match(text, place)):
            results = [(each, name.end()) for each in self.named("name")]
        if len(results) > 1:
            results.sort(key=lambda one: not text.startswith(plain(one[0].name), place))
        return results

    def named(self, name: str) -> list[GraphProperty]:
        """The property that is spelled just so, or none."""
        return [self._properties[name]] if name in self._properties else []

    def spelling(self, name: str) -> str | None:
        """The property as the graphs spell it, None where they have none of that name."""
        return self._plain.get(GraphTriple.plain_property(name))


class KnownGraphs:
    """The graphs of an answer, by their ids; false where there are none."""

    def __init__(self, graphs: Sequence[Graph]) -> None:
        self._graphs: dict[str, list[Graph]] = defaultdict(list)
        for graph in graphs:
            qid = plain(str(graph.get("qid", "")))
            if qid:
                self._graphs[qid].append(graph)
        self.ids: TextIndex[str] = TextIndex()
        for qid in self._graphs:
            self.ids.add(flatten(qid), qid)
        self._facts: dict[str, GraphFacts] = {}
        self._every = [graph for several in self._graphs.values() for graph in several]

    def __bool__(self) -> bool:
        return bool(self._graphs)

    def spelling(self, qid: str) -> str:
        """The id as its graph spells it, else as it is."""
        graphs = self._graphs.get(qid)
        return str(graphs[0]["qid"]) if graphs else qid

    def has_name(self, words: str) -> bool:
        """Whether a graph is called so, in large or small letters; "Bell" is a part of a name."""
        name = plain(words).casefold()
        part = words.strip()[:1].isupper() and self._name_words.issuperset(name.split())
        return name in self._names or part

    def has_property(self, name: str) -> bool:
        """Whether some graph has it, in large or small letters."""
        return GraphTriple.plain_property(name).casefold() in self._properties

    def facts(self, qid: str) -> GraphFacts:
        """What the graphs of this id have; nothing where there are none."""
        if qid not in self._facts:
            self._facts[qid] = GraphFacts(self._graphs.get(qid, ()))
        return self._facts[qid]

    @cached_property
    def all_facts(self) -> GraphFacts:
        """What all graphs have together."""
        return GraphFacts(self._every)

    @cached_property
    def _names(self) -> frozenset[str]:
        triples = (triple for graph in self._every for triple in GraphTriple.of_graph(graph))
        return frozenset(plain(t.value).casefold() for t in triples if t.property == "name")

    @cached_property
    def _name_words(self) -> frozenset[str]:
        return frozenset(word for name in self._names for word in re.findall(r"\w+", name))

    @cached_property
    def _properties(self) -> frozenset[str]:
        # Those without a value too: they are shown.
        names = (name for graph in self._every for name in graph if name != "qid")
        return frozenset(GraphTriple.plain_property(name).casefold() for name in names)


_RUNS = re.compile(r"\s+|(?<!\\)\\+(?=[\[\]])")
_BRACKET = re.compile(r"[\[\]]")


@dataclass(frozen=True, slots=True)
class Citation:
    """One cited triple. A bracket with n property-value pairs is n citations of its qid.

    `property` and `value` are spelled as in the graph if it has them, else as in the answer; what
    the answer leaves out is "". `start` and `end` are those of the whole bracket.
    `name` is what stands in the place of an id that the answer leaves out.
    """

    qid: str
    property: str
    value: str
    start: int
    end: int
    name: str = ""

    @builtins.property
    def triple(self) -> GraphTriple:
        """What is cited."""
        return GraphTriple(self.qid, self.property, self.value)

    @builtins.property
    def complete(self) -> bool:
        """Whether qid, property and value are all there."""
        return bool(self.qid and self.property and self.value)


@dataclass(frozen=True, slots=True)
class Bracket:
    """One bracket that cites, or [NA]; `start` and `end` are offsets into the NFC answer."""

    start: int
    end: int
    citations: tuple[Citation, ...] = ()
    missing: bool = False
    passages: tuple[int, ...] = ()


def flatten(text: str) -> str:
    """White space collapsed, and brackets without the backslashes of Markdown before them."""
    return _RUNS.sub(lambda run: "" if run[0][0] == "\\" else " ", text)


class FlatText:
    """A text as `flatten` gives it, and the way back to its own offsets."""

    def __init__(self, text: str) -> None:
        self.text = flatten(text)
        self._whole = text
        self._at = [0]
        self._lost = [0]
        lost = 0
        for run in _RUNS.finditer(text):
            left = 0 if run[0][0] == "\\" else 1
            if run.end() - run.start() > left:
                lost += run.end() - run.start() - left
                self._at.append(run.end() - lost)
                self._lost.append(lost)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Start and end in the text as it was, backslashes before the first bracket included."""
        begin = self._original(start)
        while begin and self._whole[begin - 1] == "\\":
            begin -= 1
        return begin, self._original(end - 1) + 1

    def _original(self, place: int) -> int:
        return place + self._lost[bisect_right(self._at, place) - 1]


class ClosingBrackets:
    """Which "]" ends what stands at a place, by balanced matching; linear in the text."""

    def __init__(self, text: str) -> None:
        self._places = [bracket.start() for bracket in _BRACKET.finditer(text)]
        n = len(self._places)
        match: list[int | None] = [None] * n
        opened: list[int] = []
        for i, place in enumerate(self._places):
            if text[place] == "[":
                opened.append(i)
            elif opened:
                match[opened.pop()] = i
        # For each bracket the first "]" from there on that nothing from there on opened.
        self._next: list[int | None] = [None] * (n + 1)
        for i in range(n - 1, -1, -1):
            closed = match[i]
            if text[self._places[i]] == "]":
                self._next[i] = i
            elif closed is not None:
                self._next[i] = self._next[closed + 1]
        self._match = match

    def around(self, place: int) -> int | None:
        """Where the "]" stands that closes the bracket in which `place` is; None without one."""
        i = self._next[bisect_left(self._places, place)]
        return None if i is None else self._places[i]

    def of(self, place: int) -> int | None:
        """Where the "]" stands that closes the "[" at `place`."""
        i = self._match[bisect_left(self._places, place)]
        return None if i is None else self._places[i]
