"""Asking within a stage: once more where a reply cannot be used, and never in vain."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.wings.papers.builders.scripted_server import ScriptedServer, last_text, scripted

from trueground.errors import UnreachableError, UsageError
from trueground.models.base import ChatRequest, Message, Reply
from trueground.models.openai import OpenAIModel
from trueground.models.options import ModelOptions
from trueground.net.cache import ResponseCache
from trueground.testing import FakeModel
from trueground.types import Status
from trueground.wings.papers.builders.base import REASONS, Rejected
from trueground.wings.papers.builders.client import ModelClient, RoleModel
from trueground.wings.papers.builders.store import BuildStore


class Kind(msgspec.Struct):
    answer: str
    sure: bool = True


HELLO = [Message("user", "hello")]
FAST = {"timeout": 5.0, "deadline": 5.0, "max_attempts": 2}


def model(server: ScriptedServer, **more: Any) -> OpenAIModel:
    options = {**FAST, "max_connections": 4, **more}
    return OpenAIModel("m", ModelOptions(base_url=server.url, **options))


def asking(
    made: Any,
    use: Callable[[ModelClient], Any],
    cache: ResponseCache | None = None,
    paid: BuildStore | None = None,
) -> tuple[Any, RoleModel]:
    """What `use` gives, and the model as it was asked."""
    asked = RoleModel(made)

    async def main() -> Any:
        try:
            return await use(ModelClient({"writer": asked}, cache, paid))
        finally:
            await made.close()

    return asyncio.run(main()), asked


def fallen(made: Any, use: Callable[[ModelClient], Any]) -> Rejected:
    with pytest.raises(Rejected) as met:
        asking(made, use)
    assert met.value.reason in REASONS
    return met.value


async def ask_object(client: ModelClient) -> Kind:
    return await client.ask("writer", HELLO, Kind)


def test_the_schema_is_asked_for() -> None:
    with scripted(lambda _: {"answer": "A", "sure": False}) as server:
        found, _ = asking(model(server), ask_object)
    assert found == Kind("A", False)
    asked = server.calls[0]["response_format"]["json_schema"]
    assert asked["strict"] is True
    assert asked["schema"]["required"] == ["answer", "sure"]
    assert asked["schema"]["additionalProperties"] is False
    assert "default" not in asked["schema"]["properties"]["sure"]


@pytest.mark.parametrize(
    ("first", "words"),
    [
        ("It is A.", "It is A."),
        ("", "empty"),
        ('{"answer": 3}', "Expected `str`, got `int`"),
        ('{"answer": "forbidden"}', "not this one"),
    ],
)
def test_asked_once_more_with_what_was_wrong(first: str, words: str) -> None:
    def check(made: Kind) -> str | None:
        return "not this one" if made.answer == "forbidden" else None

    said = iter([first, '{"answer": "A"}'])
    with scripted(lambda _: next(said)) as server:
        found, asked = asking(
            model(server), lambda client: client.ask("writer", HELLO, Kind, check=check)
        )
    assert found.answer == "A"
    assert asked.usage.calls == 2
    turns = server.calls[1]["messages"]
    assert [turn["role"] for turn in turns] == ["user", "assistant", "user"]
    assert words in turns[2]["content"]
    assert '"answer"' in turns[2]["content"]
    assert turns[1]["content"]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "empty_reply"),
        ("Sorry?", "not_json"),
        ('{"answer": [1]}', "wrong_fields"),
        ('{"answer": "A"} {"answer": "B"}', "wrong_fields"),
        ("[" * 100_000, "not_json"),
        ("x" * 3_000_000, "not_json"),
        ("\ud800\0", "not_json"),
        ("\0", "not_json"),
    ],
)
def test_and_no_more_than_once(reply: str, reason: str) -> None:
    with scripted(lambda _: reply) as server:
        met = fallen(model(server), ask_object)
    assert met.reason == reason
    assert not met.transient
    assert len(server.calls) == 2
    assert len(server.calls[1]["messages"][1]["content"]) <= 4_000


@pytest.mark.parametrize(
    ("reply", "reason", "passing"),
    [
        (Reply(status=Status.ERROR, error="HTTP 500"), "call_failed", True),
        (Reply(status=Status.TOO_LONG, error="too many tokens"), "too_long", False),
        (Reply(status=Status.TRUNCATED, text='{"answer": "A"}'), "truncated", False),
        (Reply(text="I cannot help", refusal=True), "refused", False),
    ],
)
def test_what_another_question_would_not_mend(reply: Reply, reason: str, passing: bool) -> None:
    fake = FakeModel(lambda _: reply)
    met = fallen(fake, ask_object)
    assert (met.reason, met.transient, len(fake.calls)) == (reason, passing, 1)


def test_what_see_raises_is_told_once_and_then_falls() -> None:
    def check(made: Kind) -> None:
        raise Rejected("not_mine", f"found {made.answer}", content=made.answer)

    with scripted(lambda _: {"answer": "A"}) as server, pytest.raises(Rejected) as met:
        asking(model(server), lambda client: client.ask("writer", HELLO, Kind, check=check))
    why = met.value
    assert (why.reason, why.detail, why.content) == ("not_mine", "found A", "A")
    assert len(server.calls) == 2
    assert "not mine: found A" in server.calls[1]["messages"][-1]["content"]


async def ask_many(client: ModelClient) -> list[Kind]:
    messages = [[Message("user", f"hello {i}")] for i in range(40)]
    return await asyncio.gather(*(client.ask("writer", one, Kind) for one in messages))


def test_a_refused_schema_costs_no_more_than_a_round() -> None:
    with scripted(lambda _: {"answer": "A"}, offers_schema=False, delay=0.01) as server:
        found, asked = asking(model(server), ask_many)
    assert [one.answer for one in found] == ["A"] * 40
    assert 1 <= server.refused <= 4  # calls at once
    assert len(server.answered) == 40
    assert asked.usage.failed == 0


def test_a_refusal_in_other_words() -> None:
    def answer(body: dict[str, Any]) -> Any:
        odd = (400, {"error": {"message": "Bad Request"}})
        return odd if "response_format" in body else {"answer": "A"}

    with scripted(answer) as server:
        found, _ = asking(model(server), ask_many)
        assert len(found) == 40
        assert len(server.calls) <= 40 + 2 * 4


def test_a_bad_call_is_not_put_down_to_a_schema_that_was_taken() -> None:
    def answer(body: dict[str, Any]) -> Any:
        odd = (400, {"error": {"message": "Bad Request"}})
        return odd if last_text(body) == "odd" else {"answer": "A"}

    async def use(client: ModelClient) -> Kind:
        await client.ask("writer", HELLO, Kind)
        return await client.ask("writer", [Message("user", "odd")], Kind)

    with scripted(answer) as server:
        assert fallen(model(server), use).reason == "call_failed"
    assert all("response_format" in body for body in server.calls)


def test_an_endpoint_that_stumbles() -> None:
    with scripted(lambda _: {"answer": "A"}, busy=17, broken=19, hangs_up=23) as server:
        found, asked = asking(model(server, max_attempts=6, deadline=30.0), ask_many)
    assert len(found) == 40
    assert asked.usage.failed == 0
    assert server.most_at_once <= 4


def test_equal_questions_are_paid_for_once(tmp_path: Path) -> None:
    async def use(client: ModelClient) -> list[Kind]:
        return await asyncio.gather(*(client.ask("writer", HELLO, Kind) for _ in range(9)))

    with scripted(lambda _: {"answer": "A"}, delay=0.02) as server:
        with ResponseCache(tmp_path / "cache.sqlite") as cache:
            assert len(asking(model(server), use, cache)[0]) == 9
        assert len(server.calls) == 1
        log = BuildStore(tmp_path)
        asking(model(server), use, None, log)
        log.close()
        assert len(server.calls) == 2
        log = BuildStore(tmp_path)
        _, asked = asking(model(server), use, None, log)
        log.close()
        assert (len(server.calls), asked.usage.cache_hits) == (2, 9)


def test_a_reply_that_cannot_be_read_is_asked_for_again(tmp_path: Path) -> None:
    with scripted(lambda _: {"answer": "A"}) as server:
        for damage in ("UPDATE reply SET value = X'C1'", "DELETE FROM reply", None):
            with BuildStore(tmp_path) as store:
                assert asking(model(server), ask_object, None, store)[0].answer == "A"
            if damage:
                with closing(sqlite3.connect(store.path)) as file, file:
                    file.execute(damage)
        assert len(server.calls) == 3


def test_what_failed_is_kept_nowhere(tmp_path: Path) -> None:
    said: list[Any] = [(400, {"error": {"message": "top_k"}})] * 2 + ['{"answer": "A"}']
    with scripted(lambda _: said.pop(0)) as server, ResponseCache(tmp_path / "c") as cache:
        log = BuildStore(tmp_path)
        with pytest.raises(Rejected, match="call_failed"):
            asking(model(server), ask_object, cache, log)
        assert asking(model(server), ask_object, cache, log)[0].answer == "A"
        log.close()


def test_nobody_there() -> None:
    gone = OpenAIModel("m", ModelOptions(base_url="http://127.0.0.1:9/v1", **FAST))
    with pytest.raises(UnreachableError, match="rerun the same command"):
        asking(gone, ask_object)


def test_no_such_role() -> None:
    with pytest.raises(UsageError, match="'judge'"):
        asking(FakeModel("x"), lambda client: client.ask("judge", HELLO, Kind))


def test_a_model_that_raises() -> None:
    def broken(_request: ChatRequest) -> str:
        raise RuntimeError("sk-12345678901234567890 \ud800")

    met = fallen(FakeModel(broken), ask_object)
    assert met.reason == "call_failed"
    assert "RuntimeError" in met.detail
