"""Step 3, second part: which facts are needed to answer (section 3.2, appendix A.4).

The first model proposes, or people have chosen; every proposal is checked against the list, the
contexts, and by the judge, who answers from the chosen facts alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from trueground.builders.asking.ask import Ask
from trueground.builders.base import CallEstimate, Material, Stage
from trueground.builders.checks import same_text
from trueground.builders.grounding.facts.sufficiency import needed_ones
from trueground.builders.grounding.facts.supporting import REASONS as SUPPORTING
from trueground.builders.grounding.facts.supporting import FactJudge
from trueground.builders.grounding.instances import AtomicFact, Factual, OriginalInstance
from trueground.builders.grounding.prompting import (
    PACKAGE,
    answer_of,
    numbered,
    titled,
    tokens_of_contexts,
)
from trueground.builders.rejected import Rejected
from trueground.models.marks import block, blocks, mark_for
from trueground.models.prompts import Prompt

SECOND = "second-judge"
_REASONS = SUPPORTING | {
    "fabricated_fact": "a proposed gold fact is none of the contexts' facts",
    "no_gold_facts": "no fact was proposed, or none was needed",
    "not_enough_facts": "the judge cannot answer from the gold facts alone",
    "other_answer": "the judge's answer from the gold facts alone is another one",
    "unclear_facts": "the judge called facts unneeded, and without them the rest is not enough",
}


class _Needed(msgspec.Struct):
    number: int
    fact: str


class _Proposal(msgspec.Struct):
    needed: list[_Needed]


def gold_stage(
    material: Material, facts: FactJudge, words_of_context: int = 250
) -> Stage[Factual, OriginalInstance]:
    """Pairs with facts → the same with the numbers of their gold facts."""
    places = ("question", "answer", "contexts", "facts")
    proposing = material.prompt(PACKAGE, "gold-1", places, ("mark",))
    judging = material.prompt(PACKAGE, "enough-1", ("question", "facts"), ("mark", "reference"))

    async def work(item: Factual, ask: Ask) -> Sequence[OriginalInstance]:
        proposed = None
        if item.labelled is None:
            proposed = await _proposed(item, ask, "writer", proposing)
        chosen = item.labelled or proposed
        if not chosen:
            raise Rejected("no_gold_facts", f"none of {len(item.facts)} facts was chosen")
        texts = [item.facts[number].text for number in chosen]
        try:
            await facts.check_supported(texts, [one.text for one in item.pair.contexts])
            gold = chosen
            if item.labelled is None:
                gold = await needed_ones(item, chosen, ask, judging)
        except Rejected as rejected:
            rejected.content = {"question": item.pair.question, "gold_facts": texts}
            raise
        second = await _second(item, ask, proposing)
        return [OriginalInstance(item.id, item.pair, item.facts, gold, proposed, second)]

    def read(tokens: float) -> float:
        return tokens_of_contexts(tokens, words_of_context)

    return Stage(
        name="gold",
        doc="Choose the facts that the answer needs",
        takes=Factual,
        gives=OriginalInstance,
        work=work,
        reasons=_REASONS,
        identity={"fact_judge": facts.signature},
        prompts=(proposing.file, judging.file),
        roles=("writer", "judge", SECOND),
        calls=[
            *(
                CallEstimate(role, lambda tokens: 2 * read(tokens), 120, 1, proposing)
                for role in ("writer", SECOND)
            ),
            CallEstimate("judge", 150, 60, 2, judging),
            facts.calls(read),
        ],
    )


async def _proposed(item: Factual, ask: Ask, role: str, prompt: Prompt) -> tuple[int, ...]:
    """The numbers of the facts that the model calls needed. Raises Rejected."""
    pair = item.pair
    contexts = titled(pair.contexts)
    listed = numbered(fact.text for fact in item.facts)
    answer = answer_of(pair.answer, pair.answers)
    mark = mark_for([*contexts, listed], (pair.question, answer))
    filled = prompt.fill(
        {
            "question": block("QUESTION", pair.question, mark),
            "answer": block("ANSWER", answer, mark),
            "contexts": blocks("CONTEXT", contexts, mark),
            "facts": block("FACTS", listed, mark),
            "mark": mark,
        }
    )
    made = await ask.object(role, filled, _Proposal, check=lambda made: _check(made, item.facts))
    try:
        numbers = {_number(one, item.facts) for one in made.needed}
    except Rejected as rejected:
        rejected.content = {
            "question": pair.question,
            "gold_facts": [one.fact for one in made.needed],
        }
        raise
    return tuple(sorted(numbers))


def _check(made: _Proposal, facts: Sequence[AtomicFact]) -> str | None:
    """What is wrong with the numbers; words that are none of the facts are another matter."""
    for one in made.needed:
        if not 1 <= one.number <= len(facts):
            return f"there is no fact {one.number}; the facts have numbers from 1 to {len(facts)}"
        at = _at(one.fact, facts)
        if at is not None and not same_text(one.fact, facts[one.number - 1].text):
            return f'fact {one.number} is not "{one.fact}": that is fact {at + 1}'
    return None


def _number(one: _Needed, facts: Sequence[AtomicFact]) -> int:
    """Raises Rejected where the words are none of the facts."""
    if not same_text(one.fact, facts[one.number - 1].text):
        raise Rejected("fabricated_fact", f"{one.number}: {one.fact}")
    return one.number - 1


def _at(text: str, facts: Sequence[AtomicFact]) -> int | None:
    return next((at for at, fact in enumerate(facts) if same_text(text, fact.text)), None)


async def _second(item: Factual, ask: Ask, prompt: Prompt) -> tuple[int, ...] | None:
    """What the second model proposes, where there is one and its reply can be used."""
    if SECOND not in ask.models:
        return None
    try:
        return await _proposed(item, ask, SECOND, prompt)
    except Rejected as rejected:
        if rejected.transient:
            raise
        return None
