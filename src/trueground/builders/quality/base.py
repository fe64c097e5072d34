"""What the quality report reads of each item of a dataset, whatever built it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Piece(msgspec.Struct, frozen=True, omit_defaults=True):
    """One item of a dataset: what is asked, what is read, what is expected.

    `factors` are its classes by name ({"task": "unanswerable", "popularity": "high"}); `numbers`
    what else is counted of it ({"gold_facts": 4}). `answerable` is what a judge model said of
    whether the contexts answer the question, and None where none was asked just that.
    """

    id: str
    question: str
    contexts: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    factors: Mapping[str, str] = {}
    numbers: Mapping[str, float] = {}
    answerable: bool | None = None
