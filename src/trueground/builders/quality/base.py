"""What the quality report reads of each item of a dataset, whatever built it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Piece(msgspec.Struct, frozen=True, omit_defaults=True):
    """One item of a dataset: what is asked, what is read, what is expected.

    `factors` are its classes by name ({"task": "unanswerable", "popularity": "high"}); `numbers`
    what else is counted of it ({"gold_facts": 4}). `answerable` is what a judge said, where one was
    asked. `human` are merged human labels by field, `annotators` how many people gave them.
    """

    id: str
    question: str
    contexts: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    factors: Mapping[str, str] = {}
    numbers: Mapping[str, float] = {}
    answerable: bool | None = None
    human: Mapping[str, str] = {}
    annotators: int = 0
