"""What flows through `build grounding`: document sets, then question-answer pairs."""

from __future__ import annotations

from typing import Literal

import msgspec

Popularity = Literal["high", "low"]
Documents = Literal["single", "multi"]
Form = Literal["definite", "free-form"]


class Context(msgspec.Struct, frozen=True):
    """A passage of a document; `document` is that document's id."""

    document: str
    title: str
    text: str


class DocumentSet(msgspec.Struct, frozen=True):
    """Documents that are asked about together: one, or two and more that are linked.

    `hops` is how many links lie between the first and the farthest of them (0 for one document).
    """

    id: str
    contexts: tuple[Context, ...]
    popularity: Popularity
    hops: int = 0


class GroundedPair(msgspec.Struct, frozen=True):
    """A question and its answer: the best of its class of a document set (steps 1 and 2).

    `contexts` is the minimal set that the answer needs: the gold contexts. `answers` are all forms
    of a definite answer; a free-form question has none, and its answer in words is `answer`.
    """

    id: str
    question: str
    answer: str
    answers: tuple[str, ...]
    contexts: tuple[Context, ...]
    popularity: Popularity
    documents: Documents
    form: Form
    set: str = ""
