"""Facts and gold facts: nothing that a model proposes is taken without a check."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.wings.papers.builders.grounding.stages import (
    FACTS,
    FACTUAL,
    MATERIAL,
    PAIR,
    done,
    reason,
)

from trueground.claims.rules import RuleDecomposer
from trueground.types import Failure, Status
from trueground.wings.papers.builders.base import Rejected
from trueground.wings.papers.builders.grounding.facts import FactJudge, facts_stage, gold_stage
from trueground.wings.papers.builders.grounding.items import AtomicFact, Context

STAGE = gold_stage(MATERIAL, FactJudge("lexical"))


def proposing(*facts: tuple[int, str]) -> Any:
    return lambda _: {"needed": [{"number": number, "fact": fact} for number, fact in facts]}


def judging(enough: bool = True, answer: str = "1820", unneeded: tuple[int, ...] = ()) -> Any:
    return lambda _: {"enough": enough, "answer": answer, "unneeded": list(unneeded)}


GOOD = proposing((1, FACTS[0].text), (3, FACTS[2].text))


def test_facts_know_their_context_and_sentence_and_stand_once() -> None:
    twice = msgspec.structs.replace(
        PAIR, contexts=(*PAIR.contexts, msgspec.structs.replace(PAIR.contexts[0], document="x"))
    )
    facts = done(facts_stage(RuleDecomposer()), twice).facts
    assert AtomicFact("Barges pay no toll on Sundays.", 0, 2) in facts
    assert AtomicFact("The Osk Canal joins Brill Lock to the sea.", 1, 0) in facts
    assert len({fact.text for fact in facts}) == len(facts)
    assert {fact.context for fact in facts} == {0, 1}


def test_facts_without_spaces_between_words() -> None:
    text = "灯塔建于1820年。灯塔高三十米。"
    pair = msgspec.structs.replace(PAIR, contexts=(Context("d", "灯塔", text),))
    facts = done(facts_stage(RuleDecomposer()), pair).facts
    assert [fact.text for fact in facts] == ["灯塔建于1820年。", "灯塔高三十米。"]


@pytest.mark.parametrize(
    ("status", "expected", "passing"),
    [(Status.ERROR, "call_failed", True), (Status.UNPARSEABLE, "no_decomposition", False)],
)
def test_a_decomposer_that_fails_drops_the_pair(
    status: Status, expected: str, passing: bool
) -> None:
    class Failing:
        name = signature = "failing"

        def decompose(self, texts: Any) -> list[Any]:
            return [Failure(status, "no") for _ in texts]

    with pytest.raises(Rejected) as rejected:
        done(facts_stage(Failing()), PAIR)
    assert (rejected.value.reason, rejected.value.transient) == (expected, passing)


@pytest.mark.parametrize("answers", [("|",), (" ", "| |"), ()])
def test_an_answer_that_the_files_cannot_hold_drops_the_pair(answers: tuple[str, ...]) -> None:
    pair = msgspec.structs.replace(PAIR, answers=answers)
    assert reason(facts_stage(RuleDecomposer()), pair) == "unwritable_answer"


def test_the_chosen_facts_are_kept_with_what_was_proposed() -> None:
    made = done(STAGE, FACTUAL, writer=GOOD, judge=judging())
    assert (made.gold, made.proposed, made.second) == ((0, 2), (0, 2), None)
    assert made.gold_texts == (FACTS[0].text, FACTS[2].text)


@pytest.mark.parametrize(
    ("proposed", "expected"),
    [
        (proposing((1, "Brill Lock was opened in 1821.")), "fabricated_fact"),
        (proposing((1, FACTS[0].text), (2, "Brill Lock is haunted.")), "fabricated_fact"),
        (proposing((4, FACTS[0].text)), "wrong_fields"),
        (proposing((0, FACTS[0].text)), "wrong_fields"),
        (proposing((2, FACTS[0].text)), "wrong_fields"),
        (proposing(), "no_gold_facts"),
        (lambda _: "All of them are needed.", "not_json"),
        (lambda _: {"facts": []}, "wrong_fields"),
    ],
)
def test_what_is_wrong_with_a_proposal_drops_the_pair(proposed: Any, expected: str) -> None:
    assert reason(STAGE, FACTUAL, writer=proposed, judge=judging()) == expected


@pytest.mark.parametrize(
    ("proposed", "judge", "made"),
    [
        (proposing((1, "The lock is haunted.")), judging(), ["The lock is haunted."]),
        (GOOD, judging(enough=False), [FACTS[0].text, FACTS[2].text]),
    ],
)
def test_what_was_refused_can_be_looked_at(proposed: Any, judge: Any, made: list[str]) -> None:
    with pytest.raises(Rejected) as rejected:
        done(STAGE, FACTUAL, writer=proposed, judge=judge)
    assert rejected.value.content == {"question": PAIR.question, "gold_facts": made}


def test_a_fact_that_no_context_holds_is_caught_even_where_it_is_listed() -> None:
    invented = (*FACTS, AtomicFact("Brill Lock was paid for by Queen Ilva.", 0, 0))
    item = msgspec.structs.replace(FACTUAL, facts=invented)
    said = proposing((4, invented[3].text))
    assert reason(STAGE, item, writer=said, judge=judging()) == "fact_not_in_context"


@pytest.mark.parametrize(
    ("judge", "expected"),
    [
        (judging(enough=False), "not_enough_facts"),
        (judging(answer="in 1777"), "other_answer"),
        (judging(answer=""), "wrong_fields"),
        (judging(unneeded=(3,)), "wrong_fields"),
        (judging(unneeded=(1, 2)), "no_gold_facts"),
    ],
)
def test_what_the_judge_objects_to_falls(judge: Any, expected: str) -> None:
    assert reason(STAGE, FACTUAL, writer=GOOD, judge=judge) == expected


def test_the_judge_never_sees_a_definite_answer_and_sees_a_free_one() -> None:
    seen: list[str] = []

    def judge(text: str) -> Any:
        seen.append(text)
        return {"enough": True, "answer": "1820", "unneeded": []}

    pair = msgspec.structs.replace(PAIR, answer="It was opened long ago.")
    done(STAGE, msgspec.structs.replace(FACTUAL, pair=pair), writer=GOOD, judge=judge)
    free = msgspec.structs.replace(pair, form="free-form", answers=())
    done(STAGE, msgspec.structs.replace(FACTUAL, pair=free), writer=GOOD, judge=judge)
    assert ["long ago" in text for text in seen] == [False, True]


def test_unneeded_facts_go_if_the_rest_is_enough() -> None:
    def judge(text: str) -> Any:
        both = "2. The Osk Canal" in text
        return {"enough": True, "answer": "1820", "unneeded": [2] if both else []}

    made = done(STAGE, FACTUAL, writer=GOOD, judge=judge)
    assert (made.gold, made.proposed) == ((0,), (0, 2))

    def unsure(text: str) -> Any:
        both = "2. The Osk Canal" in text
        return {"enough": both, "answer": "1820", "unneeded": [2] if both else []}

    assert reason(STAGE, FACTUAL, writer=GOOD, judge=unsure) == "unclear_facts"


def test_a_second_model_is_heard_and_may_fail() -> None:
    second = proposing((1, FACTS[0].text))
    made = done(STAGE, FACTUAL, writer=GOOD, judge=judging(), second_judge=second)
    assert (made.gold, made.second) == ((0, 2), (0,))
    made = done(STAGE, FACTUAL, writer=GOOD, judge=judging(), second_judge=lambda _: "No.")
    assert made.second is None


def test_facts_that_people_chose_are_not_proposed_again() -> None:
    def never(_: str) -> Any:
        raise AssertionError("asked")

    item = msgspec.structs.replace(FACTUAL, labeled=(1,))
    made = done(STAGE, item, writer=never, judge=never)
    assert (made.gold, made.proposed) == ((1,), None)
