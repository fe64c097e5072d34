"""Are the chosen facts enough to answer, and is each of them needed? The judge says."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from trueground.builders.asking.ask import Ask
from trueground.builders.grounding.facts.forms import matches
from trueground.builders.grounding.instances import Factual
from trueground.builders.grounding.prompting import numbered
from trueground.builders.rejected import Rejected
from trueground.models.marks import block, mark_for
from trueground.models.prompts import Prompt


class _Enough(msgspec.Struct):
    enough: bool
    answer: str
    unneeded: list[int]


async def needed_ones(
    item: Factual, chosen: tuple[int, ...], ask: Ask, prompt: Prompt
) -> tuple[int, ...]:
    """The chosen facts without those that the judge finds unneeded. Raises Rejected."""
    unneeded = await _judged(item, chosen, ask, prompt)
    if not unneeded:
        return chosen
    left = tuple(number for at, number in enumerate(chosen, 1) if at not in unneeded)
    if not left:
        raise Rejected("no_gold_facts", f"the judge needs none of the {len(chosen)} facts")
    try:
        await _judged(item, left, ask, prompt)
    except Rejected as rejected:
        if rejected.reason not in ("not_enough_facts", "other_answer"):
            raise
        raise Rejected("unclear_facts", rejected.detail) from None
    return left


async def _judged(item: Factual, chosen: Sequence[int], ask: Ask, prompt: Prompt) -> set[int]:
    """The places (from 1) of unneeded facts among the chosen. Raises Rejected.

    For a definite answer the judge is not told which it is, and must find it.
    """
    pair, definite = item.pair, item.pair.form == "definite"
    listed = numbered(item.facts[number].text for number in chosen)
    mark = mark_for([listed], (pair.question, pair.answer))
    filled = prompt.fill(
        {
            "question": block("QUESTION", pair.question, mark),
            "facts": block("FACTS", listed, mark),
            "reference": "" if definite else block("EXPECTED ANSWER", pair.answer, mark),
            "mark": mark,
        }
    )
    made = await ask.object("judge", filled, _Enough, check=lambda one: _check(one, len(chosen)))
    if not made.enough:
        raise Rejected("not_enough_facts", listed)
    if definite and not matches(made.answer, pair.answers):
        raise Rejected("other_answer", f"expected {pair.answers[0]}, found {made.answer}")
    return set(made.unneeded)


def _check(made: _Enough, facts: int) -> str | None:
    wrong = [number for number in made.unneeded if not 1 <= number <= facts]
    if wrong:
        return f"there is no fact {wrong[0]}; the facts have numbers from 1 to {facts}"
    if made.enough and not made.answer:
        return "the field answer is empty, though the facts are said to be enough"
    return None
