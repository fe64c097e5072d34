"""Requests to one model: what is kept, what is sent, and what ends them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from trueground.errors import RunInterrupted, WriteError
from trueground.models.base import ChatRequest, Message, Reply
from trueground.models.runner import ModelRequest, ReplySlot, ReplyStore, RequestRunner
from trueground.net.cache import ResponseCache
from trueground.testing import FakeModel
from trueground.types import Status, Usage


class Kept(ReplyStore):
    """Keeps replies by id, in memory."""

    def __init__(self, replies: dict[str, Reply] | None = None) -> None:
        self.replies = dict(replies or {})
        self.calls: list[tuple[str, bool, bool]] = []

    def load(self, slot: ReplySlot) -> Reply | None:
        return self.replies.get(slot.id)

    def keep(
        self, slot: ReplySlot, reply: Reply, seconds: float | None, *, is_cached: bool
    ) -> None:
        self.calls.append((slot.id, seconds is None, is_cached))
        self.replies[slot.id] = reply


class Full(ReplyStore):
    """Can keep nothing."""

    def keep(
        self, slot: ReplySlot, reply: Reply, seconds: float | None, *, is_cached: bool
    ) -> None:
        raise WriteError("no room")


def request(text: str) -> ModelRequest:
    return ModelRequest(ChatRequest((Message("user", text),)), id=text)


def requests(*texts: str) -> Iterator[ModelRequest]:
    return map(request, texts)


def echo(chat: ChatRequest) -> str:
    return chat.messages[-1].content.upper()


def test_run_all_gives_every_reply_to_take_and_the_store() -> None:
    store, taken = Kept(), {}
    runner = RequestRunner(FakeModel(echo), advice="", store=store)
    asyncio.run(
        runner.run_all(requests("a", "b"), lambda slot, reply: taken.update({slot.id: reply.text}))
    )
    assert taken == {"a": "A", "b": "B"}
    assert sorted(store.calls) == [("a", False, False), ("b", False, False)]


def test_run_all_reply_in_store_is_not_requested() -> None:
    model, store = FakeModel(echo), Kept({"a": Reply(text="kept")})
    runner = RequestRunner(model, advice="", store=store)
    asyncio.run(runner.run_all(requests("a", "b")))
    assert [call.messages[0].content for call in model.calls] == ["b"]
    assert ("a", True, False) in store.calls
    assert runner.usage.cache_hits == 1


def test_run_equal_requests_under_way_are_sent_once(tmp_path: Path) -> None:
    model, store = FakeModel(echo, cacheable=True, delay=0.01), Kept()

    async def main() -> Usage:
        with ResponseCache(tmp_path / "c.sqlite") as cache:
            runner = RequestRunner(model, advice="", cache=cache, store=store)
            same = [request("a")._replace(id=str(number)) for number in range(5)]
            await asyncio.gather(*map(runner.run, same))
            return runner.usage

    usage = asyncio.run(main())
    assert len(model.calls) == 1
    assert (usage.calls, usage.cache_hits) == (1, 4)
    assert sum(is_cached for _, _, is_cached in store.calls) == 4


def test_run_obsolete_request_is_not_sent() -> None:
    model = FakeModel(echo)
    runner = RequestRunner(model, advice="")
    received = asyncio.run(runner.run(request("a"), is_obsolete=lambda: True))
    assert received is None
    assert not model.calls


def test_run_all_time_limit_reached_sends_nothing_more() -> None:
    model, store = FakeModel(echo), Kept({"a": Reply(text="kept")})
    runner = RequestRunner(model, advice="", store=store, time_limit=0)
    with pytest.raises(RunInterrupted, match="time limit"):
        asyncio.run(runner.run_all(requests("a", "b", "c")))
    assert store.calls == [("a", True, False)]
    assert not model.calls


def test_run_all_canceled_keeps_every_reply_that_has_arrived() -> None:
    model, store = FakeModel(echo, delay=0.002), Kept()

    async def main() -> None:
        runner = RequestRunner(model, advice="", store=store)
        work = asyncio.create_task(runner.run_all(requests(*map(str, range(5_000)))))
        while len(store.calls) < 20:
            await asyncio.sleep(0.001)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    asyncio.run(main())
    assert len(store.calls) >= 20
    assert all(reply.text for reply in store.replies.values())


def test_run_store_that_cannot_write_ends_the_work() -> None:
    runner = RequestRunner(FakeModel(echo), advice="", store=Full())
    with pytest.raises(WriteError, match="no room"):
        asyncio.run(runner.run_all(requests("a", "b")))


def test_forgive_last_failure_forgets_the_first_error() -> None:
    model = FakeModel(lambda _: Reply(status=Status.ERROR, error="HTTP 500"))
    runner = RequestRunner(model, advice="")
    asyncio.run(runner.run(request("a")))
    assert (runner.usage.failed, runner.first_error) == (1, "HTTP 500")
    runner.forgive(1)
    assert (runner.usage.failed, runner.first_error) == (0, None)


def test_restore_cache_caches_a_reply_once(tmp_path: Path) -> None:
    with ResponseCache(tmp_path / "c.sqlite") as cache:
        runner = RequestRunner(FakeModel(echo, cacheable=True), advice="", cache=cache)
        runner.restore_cache(request("a"), lambda: Reply(text="earlier"))
        runner.restore_cache(request("a"), lambda: pytest.fail("it is there"))
        received = asyncio.run(runner.run(request("a")))
    assert received is not None
    assert (received.reply.text, received.is_cached) == ("earlier", True)
