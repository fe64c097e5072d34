"""Conversations: how many turns are shown, how they are written, and what is searched for."""

from __future__ import annotations

from collections.abc import Sequence

from trueground.benchmarks.instruct_qa.items import QaQuestion
from trueground.retrieval.base import SearchQuery
from trueground.retrieval.questions import make_query
from trueground.types import Turn

_USERS = ("user", "human")


def cut(turns: Sequence[Turn], most: int) -> list[Turn]:
    """At most `most` turns: two at a time are taken out of the middle, a question with its answer.

    The first turns, which say what it is all about, and the last ones stay.
    """
    kept = list(turns)
    while len(kept) > most and len(kept) > 1:
        middle = len(kept) // 2
        start = middle - 2 + middle % 2
        del kept[start : start + 2]
    return kept[:most]


def speaker(turns: Sequence[Turn], number: int) -> str:
    """User or Agent; where the turn does not say, the user begins and they take turns."""
    role = turns[number].role
    if role is None:
        return "Agent" if number % 2 else "User"
    return "User" if role.strip().lower() in _USERS else "Agent"


def written(turns: Sequence[Turn], most: int) -> str:
    """The turns that are shown, one a line."""
    named = [Turn(turn.content, speaker(turns, i)) for i, turn in enumerate(turns)]
    return "\n".join(f"{turn.role}: {turn.content.strip()}" for turn in cut(named, most))


def query(item: QaQuestion, form: str, *, plain: bool) -> SearchQuery:
    """What a retriever searches for; `form` is one of `retrieval.base.FORMS`.

    `plain` as for TopiOCQA's retriever: lower-case, apostrophes straight, and without question
    marks around an utterance.
    """
    said = [*(turn.content for turn in item.history), item.question]
    own = item.retrieval_query
    if plain:
        said, own = list(map(_plain, said)), _plain(own) if own else None
    return make_query(said, own, form, item.id)


def _plain(text: str) -> str:
    return text.replace("’", "'").lower().strip().strip("?").strip()
