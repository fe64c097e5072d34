"""What the prompts of all steps share: how they show contexts and answers, how long they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trueground.builders.grounding.items import Context

PACKAGE = "trueground.builders.grounding"
_TOKENS_A_WORD = 1.4
_DOCUMENTS = 1.5  # in a set, as a rule


def titled(contexts: Iterable[Context]) -> list[str]:
    """Each context headed by its title."""
    return [f"Title: {one.title}\n\n{one.text}" for one in contexts]


def answer_of(answer: str, answers: Sequence[str]) -> str:
    """An answer in words, with all forms of a definite one."""
    forms = "".join(f"\n- {form}" for form in answers)
    return f"{answer}\n\nForms of the definite answer:{forms}" if forms else answer


def numbered(facts: Iterable[str]) -> str:
    """Facts with their numbers, from 1."""
    return "\n".join(f"{number}. {fact}" for number, fact in enumerate(facts, 1))


def tokens_of_contexts(document: float, words: int) -> float:
    """Tokens of the contexts of a question, where documents have so many and passages `words`."""
    return _DOCUMENTS * min(document, words * _TOKENS_A_WORD)
