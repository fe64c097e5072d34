"""Many askers, one answerer: nobody waits for all the others in turn."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import pytest
from tests.wings.papers.builders.grounding.stages import FACTS, TEXT
from tests.wings.papers.builders.scripted_server import scripted

from trueground.wings.papers.builders.base import Rejected
from trueground.wings.papers.builders.grounding.facts import FactJudge, Together


def test_each_gets_its_own_answers_and_all_of_a_turn_are_one_lot() -> None:
    lots: list[list[int]] = []

    def answer(questions: Sequence[int]) -> list[str]:
        lots.append(list(questions))
        return [str(one) for one in questions]

    async def whole() -> list[list[str]]:
        together = Together(answer)
        return await asyncio.gather(*(together.ask(range(n, 2 * n)) for n in range(5)))

    assert asyncio.run(whole()) == [[str(one) for one in range(n, 2 * n)] for n in range(5)]
    assert [len(lot) for lot in lots] == [10]


def test_who_comes_while_others_are_answered_is_served_next() -> None:
    lots: list[int] = []

    def answer(questions: Sequence[int]) -> list[int]:
        lots.append(len(questions))
        time.sleep(0.05)
        return list(questions)

    async def late(together: Together[int, int], n: int) -> list[int]:
        await asyncio.sleep(0.01 if n else 0)
        return await together.ask([n])

    async def whole() -> list[list[int]]:
        together = Together(answer)
        return await asyncio.gather(*(late(together, n) for n in range(4)))

    assert asyncio.run(whole()) == [[0], [1], [2], [3]]
    assert lots == [1, 3]


def test_an_error_reaches_all_who_asked_and_the_next_may_ask_again() -> None:
    def answer(questions: Sequence[int]) -> list[int]:
        if 1 in questions:
            raise ValueError("one")
        return list(questions)

    async def whole() -> list[Any]:
        together = Together(answer)
        first = await asyncio.gather(together.ask([1]), together.ask([2]), return_exceptions=True)
        return [*first, await together.ask([3])]

    first, second, third = asyncio.run(whole())
    assert [str(first), str(second), third] == ["one", "one", [3]]


def test_who_gave_up_keeps_nobody_from_an_answer() -> None:
    async def whole() -> list[int]:
        together = Together(lambda questions: list(questions))
        gone = asyncio.ensure_future(together.ask([1]))
        stays = asyncio.ensure_future(together.ask([2]))
        await asyncio.sleep(0)
        gone.cancel()
        return await stays

    assert asyncio.run(whole()) == [2]


def judged(facts: FactJudge, items: int) -> list[BaseException | None]:
    async def whole() -> list[Any]:
        asked = (facts.check_supported([f"Fact {n}."], [TEXT]) for n in range(items))
        return await asyncio.gather(*asked, return_exceptions=True)

    try:
        return asyncio.run(whole())
    finally:
        facts.judge.close()


def test_a_model_as_judge_of_facts_is_asked_many_things_at_once() -> None:
    with scripted(lambda _: "True", delay=0.5) as server:
        found = judged(FactJudge(f"llm:m(base_url={server.url})", cache=False), 20)
    assert found == [None] * 20
    assert len(server.calls) == 20
    assert server.most_at_once > 3


@pytest.mark.parametrize(
    ("said", "reason", "passing"),
    [
        ("False", "fact_not_in_context", False),
        ("I would rather not say.", "no_verdict", False),
        ((400, {"error": {"message": "no"}}), "call_failed", True),
    ],
)
def test_no_verdict_is_no_finding(said: Any, reason: str, passing: bool) -> None:
    with scripted(lambda body: "True" if FACTS[0].text in str(body) else said) as server:
        judge = FactJudge(f"llm:m(base_url={server.url},max_attempts=1)", cache=False)

        async def whole() -> None:
            await judge.check_supported([FACTS[0].text, FACTS[1].text], [TEXT])

        with pytest.raises(Rejected) as rejected:
            asyncio.run(whole())
        judge.judge.close()
    assert (rejected.value.reason, rejected.value.transient) == (reason, passing)
