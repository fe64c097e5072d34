"""Answer → its sentences with what they cite: the two readers.

Definitions: metrics.md, "Citations of knowledge-graph triples" and "Citations of passages".
"""

from __future__ import annotations

from collections.abc import Sequence

from trueground.text.citations.base import Sentence
from trueground.types import Graph


def read_triples(response: str, graphs: Sequence[Graph]) -> tuple[Sentence, ...]:
    """The sentences with the triples that they cite, read against what the graphs have."""
    raise NotImplementedError


def read_numbers(response: str) -> tuple[Sentence, ...]:
    """The sentences with the numbers of passages that they cite."""
    raise NotImplementedError
