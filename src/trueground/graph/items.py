"""The items of JSON files of graphs and questions, each with its place.

KaLMA's published files are `[[question, [graph, …]], …]` (its section 3.2).
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any

from trueground.errors import GraphError, InputError
from trueground.records.jsonl import decode, read_array, read_lines
from trueground.records.problems import Problem, describe

PAIR = "[question, [graph, …]]"
GRAPH = 'a graph such as {"qid": "Q42", "name": "…", "occupation": ["…", "…"]}'
Placed = Iterator[tuple[str, Any]]


def items(stream: io.BufferedReader, name: str, expected: str) -> Placed:
    """The elements of a JSON array, or the values of JSON lines; `expected` says what they are.

    InputError: what is no JSON, with its place.
    """
    in_array = begins_array(stream)
    found: Iterable[tuple[int, bytes | Problem]]
    found = read_array(stream, name) if in_array else read_lines(stream, name)
    for number, text in found:
        place = f"{name}, {'entry' if in_array else 'line'} {number}"
        yield place, decoded(place, text, expected)


def begins_array(stream: io.BufferedReader) -> bool:
    """Whether the first sign is that of an array. Nothing is taken from the stream."""
    return stream.peek(1)[:1] == b"[" or stream.peek(1 << 12).lstrip()[:1] == b"["


def decoded(place: str, text: bytes | Problem, expected: str) -> Any:
    """A JSON value. InputError."""
    try:
        if isinstance(text, Problem):
            raise text
        return decode(text, expected)
    except Problem as problem:
        raise InputError(
            f"{place}: found {problem.found}; expected {problem.expected}. Fix the file"
        ) from None


def graph_entries(placed: Placed) -> Iterator[tuple[str, str, dict[str, list[Any]]]]:
    """(place, qid, values by property) of each graph; an item is one, or `[question, [graph, …]]`.

    Null and blank texts are no values. GraphError: it is neither, or holds what no graph may.
    """
    for place, item in placed:
        for where, graph in (
            _graphs_of_pair(place, item) if isinstance(item, list) else [(place, item)]
        ):
            if not isinstance(graph, dict):
                raise _no_graph(where, graph, GRAPH)
            qid = graph.get("qid")
            if not isinstance(qid, str) or not qid.strip():
                raise _no_graph(f"{where}, field 'qid'", qid, GRAPH)
            values: dict[str, list[Any]] = {}
            for name, found in graph.items():
                some = found if isinstance(found, list) else [found]
                if name != "qid":
                    values[name] = [one for one in some if one is not None and str(one).strip()]
                for one in values.get(name, ()):
                    if not isinstance(one, str | int | float):
                        expected = "a text, a number, true or false, or a list of these"
                        raise _no_graph(f"{where}, field {name!r}", one, expected)
            yield where, qid, values


def _graphs_of_pair(place: str, item: list[Any]) -> Placed:
    if len(item) != 2:
        raise _no_graph(place, item, f"{PAIR}, or a graph")
    question, graphs = item
    if not isinstance(question, str):
        raise _no_graph(f"{place}, question", question, "a text")
    if not isinstance(graphs, list):
        raise _no_graph(place, graphs, "a list of graphs")
    for number, graph in enumerate(graphs, 1):
        yield f"{place}, graph {number}", graph


def _no_graph(place: str, found: Any, expected: str) -> GraphError:
    return GraphError(f"{place}: found {describe(found)}; expected {expected}. Fix the entry")
