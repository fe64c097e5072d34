"""What flows from a pair to a finished instance: facts, gold facts, the conflicting version."""

from __future__ import annotations

import msgspec

from trueground.builders.checks import same_text
from trueground.builders.grounding.items import Context, GroundedPair

_YES_NO = ("yes", "no", "true", "false")


class AtomicFact(msgspec.Struct, frozen=True):
    """An atomic fact; `context` and `sentence` count from 0, the sentence within its context."""

    text: str
    context: int
    sentence: int


class Factual(msgspec.Struct, frozen=True, omit_defaults=True):
    """A pair with the atomic facts of all its contexts.

    `labelled` are the numbers (from 0) of the gold facts that people chose, where they did.
    """

    id: str
    pair: GroundedPair
    facts: tuple[AtomicFact, ...]
    labelled: tuple[int, ...] | None = None


class OriginalInstance(msgspec.Struct, frozen=True, omit_defaults=True):
    """A pair with its gold facts, by number from 0: the original version.

    `proposed` is what the first model proposed, `second` the second one, where it was asked.
    """

    id: str
    pair: GroundedPair
    facts: tuple[AtomicFact, ...]
    gold: tuple[int, ...]
    proposed: tuple[int, ...] | None = None
    second: tuple[int, ...] | None = None

    @property
    def gold_texts(self) -> tuple[str, ...]:
        """The gold facts in words."""
        return tuple(self.facts[number].text for number in self.gold)

    @property
    def context_texts(self) -> tuple[str, ...]:
        """The contexts without their titles."""
        return tuple(context.text for context in self.pair.contexts)


class KnowledgeChange(msgspec.Struct, frozen=True):
    """One piece of knowledge that was changed: its words before and after, and the kind."""

    old: str
    new: str
    type: str


class Conflict(msgspec.Struct, frozen=True):
    """The conflicting version: contexts and gold facts in the order of the original's."""

    question: str
    answer: str
    answers: tuple[str, ...]
    contexts: tuple[Context, ...]
    gold: tuple[str, ...]
    changes: tuple[KnowledgeChange, ...]


class Instance(msgspec.Struct, frozen=True, omit_defaults=True):
    """Both versions; `distractors` are ids of passages of the corpus, the nearest first."""

    id: str
    original: OriginalInstance
    conflict: Conflict | None = None
    distractors: tuple[str, ...] = ()


def is_yes_or_no(answer: str) -> bool:
    """Is the answer one whose word stands in any text?"""
    return any(same_text(answer, word) for word in _YES_NO)


def one_line(text: str) -> str:
    """The text without line ends."""
    return " ".join(text.split())
