"""What a judge model says of a conflicting version: consistent, and the new answer follows."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from trueground.builders.asking.ask import Ask
from trueground.builders.base import Material
from trueground.builders.checks import quoted, same_text
from trueground.builders.grounding.facts.forms import matches
from trueground.builders.grounding.instances import Conflict, OriginalInstance
from trueground.builders.grounding.prompting import PACKAGE, numbered, titled
from trueground.builders.rejected import Rejected
from trueground.models.marks import block, blocks, mark_for
from trueground.models.prompts import Prompt


class Prompts(NamedTuple):
    """Both prompts."""

    consistent: Prompt
    follows: Prompt


class _Contradiction(msgspec.Struct):
    quote: str
    why: str


class _Doubts(msgspec.Struct):
    contradictions: list[_Contradiction]


class _Follows(msgspec.Struct):
    answerable: bool
    answer: str
    others: list[str]


def prompts(material: Material) -> Prompts:
    """The packaged prompts, or the user's."""
    return Prompts(
        material.prompt(PACKAGE, "consistent-1", ("contexts", "changes"), ("facts", "mark")),
        material.prompt(PACKAGE, "follows-1", ("question", "contexts"), ("reference", "mark")),
    )


async def check_consistent(made: Conflict, ask: Ask, prompts: Prompts) -> None:
    """Nothing that stayed contradicts what is new: the judge must quote what does. Raises Rejected.

    A quote that stands in no context is asked for again; twice so, and the item falls.
    """
    contexts = titled(made.contexts)
    listed = "\n".join(f"{one.old} -> {one.new}" for one in made.changes)
    facts = numbered(made.gold)
    mark = mark_for([*contexts, listed, facts])
    filled = prompts.consistent.fill(
        {
            "contexts": blocks("CONTEXT", contexts, mark),
            "changes": block("REPLACED", listed, mark),
            "facts": block("STATEMENTS THAT HOLD NOW", facts, mark),
            "mark": mark,
        }
    )

    def check(doubts: _Doubts) -> str | None:
        for one in doubts.contradictions:
            if not any(quoted(one.quote, text) for text in contexts):
                return f'"{one.quote}" does not stand in the contexts; quote them word for word'
        return None

    doubts = await ask.object("judge", filled, _Doubts, check=check)
    if doubts.contradictions:
        first = doubts.contradictions[0]
        raise Rejected("contradiction", f'"{first.quote}": {first.why}')


async def check_follows(item: OriginalInstance, made: Conflict, ask: Ask, prompts: Prompts) -> None:
    """The new contexts lead to the new answer and to no other. Raises Rejected.

    For a definite answer the judge is not told which it is, and must find it.
    """
    definite = item.pair.form == "definite"
    contexts = titled(made.contexts)
    mark = mark_for(contexts, (made.question, made.answer))
    filled = prompts.follows.fill(
        {
            "question": block("QUESTION", made.question, mark),
            "contexts": blocks("CONTEXT", contexts, mark),
            "reference": "" if definite else block("EXPECTED ANSWER", made.answer, mark),
            "mark": mark,
        }
    )
    found = await ask.object("judge", filled, _Follows)
    if not found.answerable:
        raise Rejected("does_not_follow", "the judge finds no answer in the new contexts")
    if definite:
        if not found.answer or not matches(found.answer, made.answers):
            raise Rejected("does_not_follow", f"expected {made.answer}, found {found.answer}")
        if any(same_text(found.answer, old) for old in item.pair.answers):
            raise Rejected("does_not_follow", f"the judge still finds {found.answer}")
    news = made.answers if definite else (made.answer,)
    others = [one for one in found.others if one and not matches(one, news)]
    if others:
        raise Rejected("other_answer", others[0])
