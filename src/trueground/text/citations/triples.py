"""Triples of a knowledge graph as texts: their equality, their citation, a graph in one line.

Definitions: metrics.md, "Citations of knowledge-graph triples".
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from trueground.types import Graph

Key = tuple[str, str, str]


def plain(text: str) -> str:
    """NFC, white space collapsed: equal texts are equal after this."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def plain_property(name: str) -> str:
    """The same for a property's name, in which `_` is a space."""
    return plain(name.replace("_", " "))


def triple_key(triple: Sequence[str]) -> Key:
    """Triples are equal where their keys are."""
    qid, name, value = triple
    return plain(qid), plain_property(name), plain(value)


def value_text(value: Any) -> str:
    """A value of a graph as it stands in a citation."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def pairs_of(graph: Graph) -> Iterator[tuple[str, str]]:
    """Property and value, each value by itself, `name` among them; empty values are no triples."""
    for name, value in graph.items():
        if name == "qid":
            continue
        for one in value if isinstance(value, list) else [value]:
            text = "" if one is None else value_text(one)
            if text.strip():
                yield name, text


def keys_of(graphs: Iterable[Graph]) -> frozenset[Key]:
    """The triples of the graphs."""
    return frozenset(
        triple_key((str(graph["qid"]), name, value))
        for graph in graphs
        for name, value in pairs_of(graph)
    )


def ids_by_name(graphs: Iterable[Graph]) -> dict[str, set[str]]:
    """The ids of the graphs under their names, in which large and small letters are the same."""
    found: dict[str, set[str]] = {}
    for graph in graphs:
        for name, value in pairs_of(graph):
            if name == "name":
                found.setdefault(plain(value).casefold(), set()).add(plain(str(graph["qid"])))
    return found


def citation(qid: str, pairs: Iterable[tuple[str, str]]) -> str:
    """`[qid, property: value, property: value]`."""
    return f"[{', '.join([qid, *(f'{name}: {value}' for name, value in pairs)])}]"


def flat(graph: Graph) -> str:
    """A graph in one line, as a model is shown it: `{qid: …, name: …, property: value, …}`.

    Several values of a property stand one after the other, each with the property's name.
    """
    own = [("qid", str(graph["qid"]))]
    named = [(n, v) for n, v in pairs_of(graph) if n == "name"]
    rest = [(n, v) for n, v in pairs_of(graph) if n != "name"]
    return "{" + ", ".join(f"{name}: {value}" for name, value in own + named + rest) + "}"
