"""Answer → its sentences with what they cite: the two readers.

Definitions: metrics.md, "Citations of knowledge-graph triples" and "Citations of passages".
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from trueground.text.citations.base import Sentence
from trueground.text.citations.numbers import number_brackets
from trueground.text.citations.splitting import split, without
from trueground.text.citations.triple_brackets import triple_brackets
from trueground.types import Graph


def read_triples(response: str, graphs: Sequence[Graph]) -> tuple[Sentence, ...]:
    """The sentences with the triples that they cite, read against what the graphs have."""
    text = unicodedata.normalize("NFC", response)
    return split(text, triple_brackets(text, graphs))


def read_numbers(response: str) -> tuple[Sentence, ...]:
    """The sentences with the numbers of passages that they cite."""
    text = unicodedata.normalize("NFC", response)
    return split(text, number_brackets(text))


def without_brackets(response: str, graphs: Sequence[Graph] = ()) -> str:
    """The response without what it cites: triples, [NA] and numbers of passages."""
    text = unicodedata.normalize("NFC", response)
    triples = triple_brackets(text, graphs)
    ends = iter(triples)
    inside = next(ends, None)
    found = list(triples)
    for bracket in number_brackets(text):
        while inside is not None and inside.end <= bracket.start:
            inside = next(ends, None)
        if inside is None or bracket.end <= inside.start:
            found.append(bracket)
    return without(text, sorted(found, key=lambda b: b.start))
