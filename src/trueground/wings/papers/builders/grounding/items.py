"""What flows through `build grounding`: document sets, pairs, instances; how prompts show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from trueground.wings.papers.builders.checks import same_answer
from trueground.wings.papers.truly_ground.source import parse_references

PACKAGE = "trueground.wings.papers.builders.grounding"
Popularity = Literal["high", "low"]
Documents = Literal["single", "multi"]
Form = Literal["definite", "free-form"]
_TOKENS_A_WORD = 1.4
_DOCUMENTS = 1.5  # in a set, as a rule


class SourceDocument(msgspec.Struct, frozen=True, omit_defaults=True):
    """A document of the user's; `text` has its paragraphs with a blank line between.

    `popularity` is its number, where it has one; `links` the ids of the documents it links to, each
    once and never its own, in the order of the text.
    """

    id: str
    title: str
    text: str
    popularity: float | None = None
    links: tuple[str, ...] = ()


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


class AtomicFact(msgspec.Struct, frozen=True):
    """An atomic fact; `context` and `sentence` count from 0, the sentence within its context."""

    text: str
    context: int
    sentence: int


class Factual(msgspec.Struct, frozen=True, omit_defaults=True):
    """A pair with the atomic facts of all its contexts.

    `labeled` are the numbers (from 0) of the gold facts that people chose, where they did.
    """

    id: str
    pair: GroundedPair
    facts: tuple[AtomicFact, ...]
    labeled: tuple[int, ...] | None = None


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


def answer_forms(answers: Iterable[str]) -> tuple[str, ...]:
    """The forms that can be written down, each once; `|` and `&` have a meaning of their own."""
    found: list[str] = []
    for answer in answers:
        form = " ".join(answer.split())
        if form and form not in found and _readable([form]) and _readable([*found, form]):
            found.append(form)
    return tuple(found)


def format_answers(answers: Sequence[str]) -> str:
    """All forms in the published notation; empty for a free-form question."""
    return " | ".join(answers)


def _readable(answers: list[str]) -> bool:
    try:
        return parse_references(format_answers(answers)) == answers
    except ValueError:
        return False


def is_answer(answer: str, answers: Iterable[str]) -> bool:
    """Is it one of these answers?"""
    return any(same_answer(answer, form) for form in answers)


def titled(contexts: Iterable[Context]) -> list[str]:
    """Each context headed by its title."""
    return [f"Title: {one.title}\n\n{one.text}" for one in contexts]


def format_answer(answer: str, answers: Sequence[str]) -> str:
    """An answer in words, with all forms of a definite one."""
    forms = "".join(f"\n- {form}" for form in answers)
    return f"{answer}\n\nForms of the definite answer:{forms}" if forms else answer


def numbered(facts: Iterable[str]) -> str:
    """Facts with their numbers, from 1."""
    return "\n".join(f"{number}. {fact}" for number, fact in enumerate(facts, 1))


def tokens_of_contexts(document: float, words: int) -> float:
    """Tokens of the contexts of a question, where documents have so many and passages `words`."""
    return _DOCUMENTS * min(document, words * _TOKENS_A_WORD)
