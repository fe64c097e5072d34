"""The items of `build kalma`, from a paragraph to two questions."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

import msgspec

from trueground.types import Graph

T = TypeVar("T", bound=msgspec.Struct)
Fact = tuple[str, str, str]  # qid, property, value
VERSIONS = ("specific", "general")


class SourcePair(msgspec.Struct, frozen=True):
    """A relation triple by names, and the paragraph that it comes from."""

    id: str
    paragraph: str
    head: str
    relation: str
    tail: str


class LinkedPair(SourcePair, frozen=True):
    """The two entities behind the names. `graphs` are their one-hop subgraphs, `edge` joins them.

    `edge` is the property that aligns with the relation, or any where all are accepted.
    """

    qids: tuple[str, str]
    edge: str
    graphs: tuple[Graph, Graph]


class CountedPair(LinkedPair, frozen=True):
    """`counts`: for each relation of the two, how many of the dataset's 2·`entries` graphs it has.

    Relations are told as `text.triples.plain_property` does.
    """

    counts: dict[str, int]
    entries: int


class Draft(CountedPair, frozen=True):
    """`text` is the paragraph as far as it is written, citations included.

    `knowledge` are the triples of each round, in order.
    """

    text: str
    knowledge: tuple[tuple[Fact, ...], ...]

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The minimum knowledge set."""
        return tuple(fact for one in self.knowledge for fact in one)


class QuestionVerdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the judge says of a question: `needed` are numbers of the facts, from 1."""

    authentic: bool
    needed: tuple[int, ...] = ()
    reason: str = ""


class QuestionRequest(Draft, frozen=True, omit_defaults=True):
    """`bare` is the paragraph without citations, which both questions ask for.

    `verdicts` are by version; without a judge there are none.
    """

    bare: str
    general: str
    specific: str
    verdicts: dict[str, QuestionVerdict] = {}

    def question(self, version: str) -> str:
        """The question of that version."""
        return self.general if version == "general" else self.specific


def grown(item: msgspec.Struct, kind: type[T], **more: Any) -> T:
    """The item as one of the next kind. Fields of the old that `more` has too are replaced."""
    return kind(**{**{name: getattr(item, name) for name in item.__struct_fields__}, **more})


@cache
def read_words(name: str) -> dict[str, frozenset[str]]:
    """The lines of data/NAME.txt by the [section] in which they stand, "" before the first."""
    text = (files(__package__) / "data" / f"{name}.txt").read_text(encoding="utf-8")
    found: dict[str, set[str]] = {}
    section = ""
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            found.setdefault(section, set()).add(line)
    return {name: frozenset(words) for name, words in found.items()}
