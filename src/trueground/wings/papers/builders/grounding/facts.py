"""Step 3: the contexts as atomic facts, and which of them the answer needs (section 3.2, A.3, A.4).

A model proposes gold facts, or people have chosen; every proposal is checked against the list, the
contexts, and by the judge, who answers from the chosen facts alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import ClassVar, Generic, TypeVar

import msgspec

from trueground.claims import Decomposer
from trueground.judges import get_judge
from trueground.models import Prompt
from trueground.text import fact_key
from trueground.types import Claim, Failure, JudgeRequest, Status, Verdict
from trueground.wings.papers.builders.base import (
    CALL_FAILED,
    CallEstimate,
    Rejected,
    Stage,
    mark_fields,
    rejected_content,
)
from trueground.wings.papers.builders.checks import check_numbers, count_words, same_text
from trueground.wings.papers.builders.client import ModelClient
from trueground.wings.papers.builders.flow import in_daemon
from trueground.wings.papers.builders.grounding.items import (
    PACKAGE,
    AtomicFact,
    Factual,
    GroundedPair,
    OriginalInstance,
    answer_forms,
    format_answer,
    is_answer,
    numbered,
    titled,
    tokens_of_contexts,
)
from trueground.wings.papers.builders.settings import Material

DECOMPOSER, FACT_JUDGE, SECOND = "decomposer", "fact-judge", "second-judge"
Q = TypeVar("Q")
A = TypeVar("A")


class Together(Generic[Q, A]):
    """Gathers the questions of all tasks of an event loop, and has them answered in one thread.

    For judges and decomposers, which are not made for many threads but ask their own model many
    things at once. While one lot is being answered, the next one gathers.
    """

    def __init__(self, answer: Callable[[Sequence[Q]], Sequence[A]]) -> None:
        """`answer` gives one answer for each question, in their order."""
        self._answer = answer
        self._waiting: list[tuple[Sequence[Q], asyncio.Future[list[A]]]] = []
        self._busy = asyncio.Lock()

    async def ask(self, questions: Sequence[Q]) -> list[A]:
        """One answer for each question. Raises what `answer` raises."""
        place: asyncio.Future[list[A]] = asyncio.get_running_loop().create_future()
        self._waiting.append((questions, place))
        async with self._busy:  # who is the next to have it asks for all who wait
            await asyncio.sleep(0)  # others of this turn may want to ask too
            lot = [one for one in self._waiting if not one[1].done()]
            self._waiting = []
            every = [question for some, _ in lot for question in some]
            try:
                answers = iter(await in_daemon(partial(self._answer, every)) if lot else ())
                for some, other in lot:
                    other.set_result([next(answers) for _ in some])
            except Exception as error:  # those who asked must hear of it
                for _, other in lot:
                    if not other.done():
                        other.set_exception(error)
        return await place


class FactJudge:
    """A judge of the judges room (--fact-judge), asked by many tasks at once. Raises UsageError."""

    # Why an item is rejected in every stage that asks it.
    REASONS: ClassVar = {
        "fact_not_in_context": "the judge of facts finds a gold fact in no context",
        "no_verdict": "the judge of facts gave no verdict that can be read",
    }

    def __init__(self, written: str, *, cache: bool = True) -> None:
        self.judge = get_judge(written, cache=cache)
        self.signature = self.judge.signature
        self._together: Together[JudgeRequest, Verdict] = Together(self.judge.answer_once)

    async def check_supported(self, facts: Sequence[str], contexts: Sequence[str]) -> None:
        """See that each fact stands in one of the contexts.

        Raises Rejected with one of REASONS; `call_failed` where the judge could not be asked.
        """
        requests = [JudgeRequest(fact, tuple(contexts)) for fact in facts]
        verdicts = await self._together.ask(requests)
        for fact, verdict in zip(facts, verdicts, strict=True):
            if verdict.supported is None:
                failed = verdict.status is Status.ERROR
                said = "; ".join(verdict.reasons) or f"the verdict is {verdict.status}"
                raise Rejected(CALL_FAILED if failed else "no_verdict", said, transient=failed)
            if not verdict.supported:
                raise Rejected("fact_not_in_context", fact)

    def calls(self, contexts: Callable[[float], float]) -> CallEstimate:
        """What it asks, if it has a model to ask; `contexts` gives their tokens."""
        # A question has four gold facts; most have fewer.
        return CallEstimate(FACT_JUDGE, lambda tokens: contexts(tokens) + 250, 10, 4.0)


# --- atomic facts


def facts_stage(
    decomposer: Decomposer, words_of_context: int = 250
) -> Stage[GroundedPair, Factual]:
    """Pairs → pairs with the facts of their contexts, each with its context and sentence."""
    together = Together(decomposer.decompose)

    async def work(pair: GroundedPair, _client: ModelClient) -> Sequence[Factual]:
        answers = answer_forms(pair.answers) if pair.form == "definite" else ()
        if pair.form == "definite" and not answers:
            found = " / ".join(pair.answers) or "no answer"
            raise Rejected("unwritable_answer", f"found {found!r}")
        texts = [context.text for context in pair.contexts]
        facts = tuple(_facts_of(await together.ask(texts)))
        if not facts:
            raise Rejected("no_facts", f"{len(texts)} contexts without a statement")
        return [Factual(pair.id, msgspec.structs.replace(pair, answers=answers), facts)]

    def sentences(tokens: float) -> float:  # one sentence of 20 tokens a call, of a model's
        return max(1.0, tokens_of_contexts(tokens, words_of_context) / 20)

    return Stage(
        name="facts",
        doc="Take the contexts apart into atomic facts",
        output_type=Factual,
        work=work,
        reasons={
            "unwritable_answer": "no form of the answer can be written: `|` and ` & ` part answers "
            "there",
            "no_facts": "the contexts could not be taken apart into facts",
            "no_decomposition": "the decomposer's reply could not be used",
        },
        identity={"decomposer": decomposer.signature},
        calls=[CallEstimate(DECOMPOSER, 700, 60, sentences)],  # 700 tokens of examples
    )


def _facts_of(decomposed: Sequence[list[Claim] | Failure]) -> Iterator[AtomicFact]:
    """The facts of all contexts in order, each once. Raises Rejected."""
    before: set[str] = set()
    for context, claims in enumerate(decomposed):
        if isinstance(claims, Failure):
            failed = claims.status is Status.ERROR
            reason = CALL_FAILED if failed else "no_decomposition"
            raise Rejected(reason, f"context {context + 1}: {claims.reason}", transient=failed)
        for claim in claims:
            text = " ".join(claim.text.split())
            # A clause that was cut out of a sentence gets the beginning and the end of one.
            first, _, rest = text.partition(" ")
            if first.isalpha() and first.islower():
                text = f"{first[0].upper()}{first[1:]} {rest}"
            text = f"{text}." if text[-1:].isalnum() else text
            if count_words(text) >= 2 and fact_key(text) not in before:
                before.add(fact_key(text))
                yield AtomicFact(text, context, claim.sentence)


# --- gold facts


class _Needed(msgspec.Struct):
    number: int
    fact: str


class _Proposal(msgspec.Struct):
    needed: list[_Needed]


class _Enough(msgspec.Struct):
    enough: bool
    answer: str
    unneeded: list[int]


def gold_stage(
    material: Material, facts: FactJudge, words_of_context: int = 250
) -> Stage[Factual, OriginalInstance]:
    """Pairs with facts → the same with the numbers of their gold facts."""
    places = ("question", "answer", "contexts", "facts")
    proposing = material.prompt(PACKAGE, "gold-1", places, ("mark",))
    judging = material.prompt(PACKAGE, "enough-1", ("question", "facts"), ("mark", "reference"))

    read = partial(tokens_of_contexts, words=words_of_context)

    async def work(item: Factual, client: ModelClient) -> Sequence[OriginalInstance]:
        labeled, proposed = item.labeled, None
        if labeled is None:
            proposed = await _propose(item, client, "writer", proposing)
        gold = labeled or proposed
        if not gold:
            raise Rejected("no_gold_facts", f"none of {len(item.facts)} facts was chosen")
        texts = [item.facts[number].text for number in gold]
        with rejected_content(lambda: {"question": item.pair.question, "gold_facts": texts}):
            await facts.check_supported(texts, [one.text for one in item.pair.contexts])
            if labeled is None:
                gold = await _leave_out_unneeded(item, gold, client, judging)
        second = None
        if SECOND in client.models:
            try:
                second = await _propose(item, client, SECOND, proposing)
            except Rejected as rejected:  # it is only counted: no reply, no count
                if rejected.transient:
                    raise
        return [OriginalInstance(item.id, item.pair, item.facts, gold, proposed, second)]

    proposers = ("writer", SECOND)
    return Stage(
        name="gold",
        doc="Choose the facts that the answer needs",
        output_type=OriginalInstance,
        work=work,
        reasons=FactJudge.REASONS
        | {
            "fabricated_fact": "a proposed gold fact is none of the contexts' facts",
            "no_gold_facts": "no fact was proposed, or none was needed",
            "not_enough_facts": "the judge cannot answer from the gold facts alone",
            "other_answer": "the judge's answer from the gold facts alone is another one",
            "unclear_facts": "the judge called facts unneeded, and without them the rest is not "
            "enough",
        },
        identity={"fact_judge": facts.signature},
        prompts=(proposing.file, judging.file),
        roles=("writer", "judge", SECOND),
        calls=[
            *(CallEstimate(one, lambda t: 2 * read(t), 120, 1, proposing) for one in proposers),
            CallEstimate("judge", 150, 60, 2, judging),
            facts.calls(read),
        ],
    )


async def _propose(
    item: Factual, client: ModelClient, role: str, prompt: Prompt
) -> tuple[int, ...]:
    """The numbers of the facts that the model calls needed. Raises Rejected."""
    pair, facts = item.pair, item.facts
    texts = {"contexts": titled(pair.contexts), "facts": numbered(fact.text for fact in facts)}
    own = {"question": pair.question, "answer": format_answer(pair.answer, pair.answers)}

    def check(reply: _Proposal) -> str | None:
        """Of the numbers; words that are none of the facts are another matter."""
        wrong = check_numbers("number", [one.number for one in reply.needed], len(facts))
        for one in () if wrong else reply.needed:
            at = next((n for n, fact in enumerate(facts, 1) if same_text(one.fact, fact.text)), 0)
            if at and not same_text(one.fact, facts[one.number - 1].text):
                return f'fact {one.number} is not "{one.fact}": that is fact {at}'
        return wrong

    fields = mark_fields(texts, own, titles={"contexts": "CONTEXT"})
    reply = await client.ask(role, prompt.fill(fields), _Proposal, check=check)
    for one in reply.needed:
        if not same_text(one.fact, facts[one.number - 1].text):
            shown = {"question": pair.question, "gold_facts": [one.fact for one in reply.needed]}
            raise Rejected("fabricated_fact", f"{one.number}: {one.fact}", shown)
    return tuple(sorted({one.number - 1 for one in reply.needed}))


async def _leave_out_unneeded(
    item: Factual, chosen: tuple[int, ...], client: ModelClient, prompt: Prompt
) -> tuple[int, ...]:
    """The chosen facts without those that the judge finds unneeded. Raises Rejected."""
    unneeded = await _judge_enough(item, chosen, client, prompt)
    left = tuple(number for at, number in enumerate(chosen, 1) if at not in unneeded)
    if not left:
        raise Rejected("no_gold_facts", f"the judge needs none of the {len(chosen)} facts")
    try:
        if unneeded:
            await _judge_enough(item, left, client, prompt)
    except Rejected as rejected:
        if rejected.reason not in ("not_enough_facts", "other_answer"):
            raise
        raise Rejected("unclear_facts", rejected.detail) from None
    return left


async def _judge_enough(
    item: Factual, chosen: Sequence[int], client: ModelClient, prompt: Prompt
) -> set[int]:
    """The places (from 1) of unneeded facts among the chosen. Raises Rejected.

    For a definite answer the judge is not told which it is, and must find it.
    """
    pair, definite = item.pair, item.pair.form == "definite"
    listed = numbered(item.facts[number].text for number in chosen)
    own = {"question": pair.question, "reference": pair.answer}
    fields = mark_fields({"facts": listed}, own, titles={"reference": "EXPECTED ANSWER"})

    def check(reply: _Enough) -> str | None:
        if reply.enough and not reply.answer:
            return "the field answer is empty, though the facts are said to be enough"
        return check_numbers("unneeded", reply.unneeded, len(chosen))

    fields |= {"reference": ""} if definite else {}
    reply = await client.ask("judge", prompt.fill(fields), _Enough, check=check)
    if not reply.enough:
        raise Rejected("not_enough_facts", listed)
    if definite and not is_answer(reply.answer, pair.answers):
        raise Rejected("other_answer", f"expected {pair.answers[0]}, found {reply.answer}")
    return set(reply.unneeded)
