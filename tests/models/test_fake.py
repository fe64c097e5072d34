"""The model that ships for tests."""

from __future__ import annotations

import asyncio
import time

import pytest

from trueground.models.base import ChatRequest, Message, Reply, TokenUsage
from trueground.models.replay import FakeModel, named_fake
from trueground.types import Status


def asked(*texts: str) -> ChatRequest:
    return ChatRequest(tuple(Message("user", text) for text in texts))


def test_a_fixed_answer_with_words_as_tokens() -> None:
    model = FakeModel("not known at all", name="stub")
    reply = asyncio.run(model.generate(asked("Who wrote it?", "When?")))
    assert reply == Reply(
        text="not known at all", finish_reason="stop", model="stub", usage=TokenUsage(4, 4)
    )


def test_a_function_answers_with_text_or_reply() -> None:
    cut = Reply(text="a", status=Status.TRUNCATED)
    model = FakeModel(lambda request: cut if request.draw else request.messages[0].content.upper())
    assert asyncio.run(model.generate(asked("hey"))).text == "HEY"
    assert asyncio.run(model.generate(ChatRequest((), draw=1))) is cut
    assert [call.draw for call in model.calls] == [0, 1]


def test_fake_model_passes_on_exceptions_of_function() -> None:
    def fails(request: ChatRequest) -> str:
        raise LookupError(request.messages[0].content)

    with pytest.raises(LookupError, match="hey"):
        asyncio.run(FakeModel(fails).generate(asked("hey")))


def test_echo_gives_the_last_user_message() -> None:
    model = named_fake("echo")
    last = Message("assistant", "well")
    request = ChatRequest((*asked("first", "second").messages, last))
    assert asyncio.run(model.generate(request)).text == "second"
    assert asyncio.run(model.generate(ChatRequest((last,)))).text == ""
    assert asyncio.run(named_fake("unknown").generate(request)).text == "unknown"


def test_delays_run_side_by_side() -> None:
    async def many() -> None:
        model = FakeModel("a", delay=0.3)
        await asyncio.gather(*(model.generate(asked("hey")) for _ in range(50)))

    start = time.perf_counter()
    asyncio.run(many())
    assert 0.3 <= time.perf_counter() - start < 5.0  # 15 s one after the other
