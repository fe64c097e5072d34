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


def graphs_of_pair(place: str, item: Any) -> Placed:
    """The graphs of `[question, [graph, …]]`. GraphError: it is no such pair."""
    if not isinstance(item, list) or len(item) != 2:
        raise GraphError(
            f"{place}: found {describe(item)}; expected {PAIR}. A list of graphs alone is the "
            "format 'graphs'. Fix the entry"
        )
    question, graphs = item
    if not isinstance(question, str):
        raise GraphError(
            f"{place}, question: found {describe(question)}; expected a text. Fix the entry"
        )
    if not isinstance(graphs, list):
        raise GraphError(
            f"{place}: found {describe(graphs)}; expected a list of graphs. Fix the entry"
        )
    for number, graph in enumerate(graphs, 1):
        yield f"{place}, graph {number}", graph
