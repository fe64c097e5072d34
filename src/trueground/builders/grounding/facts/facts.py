"""Step 3, first part: the contexts of a pair as atomic facts (section 3.2, appendix A.3)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from trueground.builders.asking.ask import Ask
from trueground.builders.base import CallEstimate, Stage
from trueground.builders.checks import words
from trueground.builders.grounding.facts.forms import forms
from trueground.builders.grounding.instances import AtomicFact, Factual, one_line
from trueground.builders.grounding.items import GroundedPair
from trueground.builders.grounding.prompting import tokens_of_contexts
from trueground.builders.grounding.together import Together
from trueground.builders.rejected import Rejected
from trueground.claims import Decomposer
from trueground.claims.base import Decomposed
from trueground.text.normalize import fact_key
from trueground.types import Failure, Status

_REASONS = {
    "unwritable_answer": "no form of the answer can be written: `|` and ` & ` part answers there",
    "no_facts": "the contexts could not be taken apart into facts",
    "no_decomposition": "the decomposer's reply could not be used",
}
_LEAST_WORDS = 2
DECOMPOSER = "decomposer"
_TOKENS_OF_SENTENCE, _TOKENS_OF_EXAMPLES = 20.0, 700.0


def facts_stage(
    decomposer: Decomposer, words_of_context: int = 250
) -> Stage[GroundedPair, Factual]:
    """Pairs → pairs with the facts of their contexts, each with its context and sentence."""
    together = Together(decomposer.decompose)

    async def work(pair: GroundedPair, _ask: Ask) -> Sequence[Factual]:
        answers = forms(pair.answers) if pair.form == "definite" else ()
        if pair.form == "definite" and not answers:
            raise Rejected(
                "unwritable_answer", f"found {' / '.join(pair.answers) or 'no answer'!r}"
            )
        texts = [context.text for context in pair.contexts]
        facts = _facts(await together.ask(texts))
        if not facts:
            raise Rejected("no_facts", f"{len(texts)} contexts without a statement")
        return [Factual(pair.id, msgspec.structs.replace(pair, answers=answers), facts)]

    return Stage(
        name="facts",
        doc="Take the contexts apart into atomic facts",
        takes=GroundedPair,
        gives=Factual,
        work=work,
        reasons=_REASONS,
        identity={"decomposer": decomposer.signature},
        calls=[
            CallEstimate(
                DECOMPOSER,
                _TOKENS_OF_EXAMPLES,
                60,
                lambda tokens: _sentences(tokens_of_contexts(tokens, words_of_context)),
            )
        ],
    )


def _sentences(tokens: float) -> float:
    """A decomposer that has a model is shown one sentence a call, and examples."""
    return max(1.0, tokens / _TOKENS_OF_SENTENCE)


def _facts(decomposed: Sequence[Decomposed]) -> tuple[AtomicFact, ...]:
    """The facts of all contexts in order, each once. Raises Rejected."""
    facts: list[AtomicFact] = []
    seen: set[str] = set()
    for context, claims in enumerate(decomposed):
        if isinstance(claims, Failure):
            passing = claims.status is Status.ERROR
            reason = "call_failed" if passing else "no_decomposition"
            raise Rejected(reason, f"context {context + 1}: {claims.reason}", transient=passing)
        for claim in claims:
            text = _sentence(one_line(claim.text))
            if words(text) >= _LEAST_WORDS and fact_key(text) not in seen:
                seen.add(fact_key(text))
                facts.append(AtomicFact(text, context, claim.sentence))
    return tuple(facts)


def _sentence(fact: str) -> str:
    """A clause that was cut out of a sentence gets the beginning and the end of one."""
    first, _, rest = fact.partition(" ")
    if first.isalpha() and first.islower():
        fact = f"{first[0].upper()}{first[1:]} {rest}"
    return f"{fact}." if fact[-1:].isalnum() else fact
