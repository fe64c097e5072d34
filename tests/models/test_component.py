"""Asking a model from code without an event loop: kept replies, failures, Ctrl-C, closing."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest
from tests.chaos import KEY, ChaosServer

from trueground.components.specs import ComponentSpec
from trueground.errors import UnreachableError, UsageError
from trueground.models.base import (
    ChatModel,
    ChatRequest,
    Message,
    Params,
    Reply,
    TokenLogprob,
)
from trueground.models.component import SyncRequestRunner, configure_model
from trueground.models.openai import OpenAIModel
from trueground.models.options import OPTIONS, ModelOptions
from trueground.models.replay import FakeModel
from trueground.types import Status, Usage


def make_spec_model(spec: ComponentSpec) -> ChatModel:
    return configure_model(spec, f"the {spec.kind} {spec.name}", params=Params()).model


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    assert [thread.name for thread in threading.enumerate() if thread.name == "asker"] == []


def asking(text: str, draw: int = 0, **params: object) -> ChatRequest:
    return ChatRequest((Message("user", text),), Params(**params), draw)  # type: ignore[arg-type]


def endpoint(server: ChaosServer, **options: object) -> OpenAIModel:
    chosen = ModelOptions(base_url=server.base_url, timeout=0.5, max_attempts=2, **options)  # type: ignore[arg-type]
    model = OpenAIModel("m-1", chosen)
    model.client = model.endpoint.client(chosen, backoff=0.001)
    return model


def texts(replies: list[Reply]) -> list[str]:
    return [reply.text for reply in replies]


def test_replies_in_the_order_of_requests_and_equal_ones_asked_once() -> None:
    model = FakeModel(lambda r: r.messages[0].content.upper(), delay=0.01, concurrency=8)
    asker = SyncRequestRunner(model)
    try:
        replies = asker.run_all([asking(text) for text in "abcaabbc"] + [asking("a", draw=1)])
        assert texts(replies) == [*"ABCAABBC", "A"]
        assert sorted(r.messages[0].content for r in model.calls) == ["a", "a", "b", "c"]
        assert asker.usage == Usage(calls=4, tokens_in=4, tokens_out=4)
        assert asker.run_all([]) == []
    finally:
        asker.close()


def test_kept_replies_are_found_by_another_asker_at_another_address() -> None:
    token = TokenLogprob("4", -0.1, {"4": -0.1, "5": -2.4})
    with ChaosServer() as one, ChaosServer() as other:
        first = SyncRequestRunner(endpoint(one))
        asked = [asking("why?"), asking("how?", temperature=0)]
        replies = first.run_all(asked)
        first.close()
        second = SyncRequestRunner(endpoint(other))
        assert second.run_all(asked) == replies
        assert second.run_all([asking("how?", temperature=0.0)]) == replies[1:]
        assert second.usage == Usage(cache_hits=3)
        second.close()
        assert not other.calls
        fresh = SyncRequestRunner(endpoint(other), cache=False)
        assert texts(fresh.run_all(asked)) == texts(replies)
        assert (fresh.usage.calls, fresh.cache_problem) == (2, None)
        fresh.close()
    kept = FakeModel(lambda _: Reply(text="4", logprobs=[token]), cacheable=True)
    for calls in (1, 1):
        asker = SyncRequestRunner(kept)
        assert asker.run_all([asking("rate")])[0].logprobs == [token]
        asker.close()
        assert len(kept.calls) == calls


def test_failed_calls_are_replies_and_are_asked_again() -> None:
    failing = {"garbage": "html", "hang": "hang", "reset": "reset", "busy": "429"}
    behavior = {**failing, "long": "too-long", "cut": "length"}
    with ChaosServer(lambda text, _: behavior.get(text, "ok"), hang=2) as server:
        asker = SyncRequestRunner(endpoint(server))
        asked = [asking(text) for text in ("ok", *behavior)]
        replies = asker.run_all(asked)
        told = [reply.status for reply in replies]
        assert told == [None, *[Status.ERROR] * 4, Status.TOO_LONG, Status.TRUNCATED]
        assert all(reply.error for reply in replies[1:6])
        assert KEY not in repr(replies)
        before = dict(server.calls)
        assert [reply.status for reply in asker.run_all(asked)] == told
        again = {text for text, n in server.calls.items() if n > before[text]}
        assert again == {*failing, "long"}
        assert asker.usage.cache_hits == 2
        asker.close()


def test_a_pause_that_the_endpoint_asks_for_is_waited_out() -> None:
    with ChaosServer(lambda _, call: "429-wait" if call == 1 else "ok") as server:
        asker = SyncRequestRunner(endpoint(server))
        start = time.monotonic()
        assert asker.run_all([asking("why?")])[0].text == "answer to why?"
        assert time.monotonic() - start >= 1
        asker.close()


@pytest.mark.parametrize("behavior", ["401", "403", "404", "429-quota"])
def test_run_all_endpoint_without_access_raises_unreachable(behavior: str) -> None:
    with ChaosServer(lambda *_: behavior) as server:
        asker = SyncRequestRunner(endpoint(server))
        with pytest.raises(
            UnreachableError, match=r"m-1 cannot be reached: .*run the same"
        ) as told:
            asker.run_all([asking(f"q{n}") for n in range(100)])
        assert KEY not in str(told.value)
        assert len(server.calls) <= 32
        asker.close()
        asker.close()


def test_run_all_without_server_raises_unreachable() -> None:
    with ChaosServer() as server:
        gone = server.base_url
    model = OpenAIModel("m-1", ModelOptions(base_url=gone, max_attempts=1))
    asker = SyncRequestRunner(model)
    for _ in range(2):
        with pytest.raises(UnreachableError, match="m-1 cannot be reached"):
            asker.run_all([asking("why?")])
    asker.close()


def test_one_that_gets_through_keeps_the_others_going() -> None:
    """The first to come back reaches nobody; a slower one does."""

    async def behave(request: ChatRequest) -> Reply:
        text = request.messages[0].content
        await asyncio.sleep(0.1 if text == "slow" else 0.0)
        if text.startswith("lost"):
            return Reply(status=Status.ERROR, error="nobody", finish_reason=Reply.UNREACHABLE)
        return Reply(text=text)

    model = FakeModel("", concurrency=4)
    model.generate = behave  # type: ignore[method-assign]
    asker = SyncRequestRunner(model)
    replies = asker.run_all([asking(text) for text in ("lost", "slow", "lost too", "c")])
    assert [reply.status for reply in replies] == [Status.ERROR, None, Status.ERROR, None]
    with pytest.raises(UnreachableError):
        asker.run_all([asking(f"lost {n}") for n in range(40)])
    asker.close()


def test_a_fault_of_the_models_code_fails_that_call_alone() -> None:
    def answer(request: ChatRequest) -> str:
        text = request.messages[0].content
        if text == "bad":
            raise LookupError(f"no such thing, authorization: {KEY}")
        return text

    asker = SyncRequestRunner(FakeModel(answer, cacheable=True))
    good, bad = asker.run_all([asking("good"), asking("bad")])
    assert good.text == "good"
    assert (bad.status, bad.text) == (Status.ERROR, "")
    assert bad.error is not None
    assert bad.error.startswith("unforeseen LookupError: no such thing")
    assert KEY not in bad.error
    asker.close()


def test_run_all_invalid_request_raises() -> None:
    with ChaosServer() as server:
        asker = SyncRequestRunner(endpoint(server))
        with pytest.raises(UsageError, match="stream"):
            asker.run_all([asking("why?", extra={"stream": True})])
        assert asker.run_all([asking("why?")])[0].text == "answer to why?"
        asker.close()


def test_inside_a_running_event_loop() -> None:
    async def main() -> list[Reply]:
        asker = SyncRequestRunner(FakeModel("yes", delay=0.01))
        try:
            return asker.run_all([asking("a"), asking("b")])
        finally:
            asker.close()

    assert texts(asyncio.run(main())) == ["yes", "yes"]


def test_closing_twice_unused_and_asking_again() -> None:
    SyncRequestRunner(FakeModel("unused")).close()
    with ChaosServer() as server:
        asker = SyncRequestRunner(endpoint(server))
        for question in ("why?", "how?"):
            assert asker.run_all([asking(question)])[0].text == f"answer to {question}"
            asker.close()
            asker.close()
        assert asker.run_all([asking("why?")])[0].text == "answer to why?"
        assert asker.usage.cache_hits == 1
        asker.close()


def test_a_model_that_cannot_be_closed_leaves_nothing_open() -> None:
    class Stuck(FakeModel):
        async def close(self) -> None:
            raise OSError("stuck")

    asker = SyncRequestRunner(Stuck("yes", cacheable=True))
    asker.run_all([asking("a")])
    with pytest.raises(OSError, match="stuck"):
        asker.close()
    asker.close()


def test_many_kept_replies_cost_little() -> None:
    model = FakeModel(lambda r: r.messages[0].content, concurrency=100_000_000, cacheable=True)
    asked = [asking(f"q{n}") for n in range(2_000)]
    first = SyncRequestRunner(model)
    first.run_all(asked)
    first.close()
    second = SyncRequestRunner(model)
    start = time.monotonic()
    assert len(second.run_all(asked)) == 2_000
    assert time.monotonic() - start < 5
    assert (second.usage.cache_hits, len(model.calls)) == (2_000, 2_000)
    second.close()


def test_ctrl_c_while_waiting_ends_the_calls_and_keeps_what_came() -> None:
    ended: list[str] = []

    class Slow(FakeModel):
        async def generate(self, request: ChatRequest) -> Reply:
            text = request.messages[0].content
            try:
                await asyncio.sleep(30 if text == "slow" else 0)
            except asyncio.CancelledError:
                ended.append(text)
                raise
            return Reply(text=text)

    asker = SyncRequestRunner(Slow("", cacheable=True, concurrency=2))
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        asker.run_all([asking("slow"), asking("a"), asking("b")])
    assert time.monotonic() - start < 5
    assert ended == ["slow"]
    assert texts(asker.run_all([asking("a"), asking("b")])) == ["a", "b"]
    assert asker.usage.cache_hits == 2
    asker.close()
    timer.join()


def test_runner_that_is_not_closed_saves_replies_at_exit() -> None:
    code = (
        "from trueground.models.component import SyncRequestRunner\n"
        "from trueground.models.base import ChatRequest, Message\n"
        "from trueground.models.replay import FakeModel\n"
        "asker = SyncRequestRunner(FakeModel('yes', cacheable=True))\n"
        "asker.run_all([ChatRequest((Message('user', 'x'),))])\n"
        "print(asker.usage.calls, asker.usage.cache_hits)\n"
    )
    for expected in ("1 0", "0 1"):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stdout.strip(), done.stderr) == (0, expected, "")


def test_models_from_what_a_user_wrote() -> None:
    written = "llm:m:8b(base_url=http://127.0.0.1:9/v1,max_connections=3,rpm=60,timeout=2)"
    model = make_spec_model(ComponentSpec.parse("judge", written))
    assert (model.name, model.concurrency) == ("m:8b", 3)
    assert make_spec_model(ComponentSpec.parse("judge", "llm:fake:True")).name == "fake:True"
    assert "api_key_env" in OPTIONS
    with pytest.raises(UsageError, match=r"the judge llm needs a model\. Write llm:MODEL"):
        make_spec_model(ComponentSpec.parse("judge", "llm"))
    for option in ("rpm=0", "max_connections=0", "timeout=soon", "max_attempts=1.5"):
        with pytest.raises(UsageError, match=option.partition("=")[0]):
            make_spec_model(
                ComponentSpec.parse("judge", f"llm:m(base_url=http://127.0.0.1:9/v1,{option})")
            )


def test_a_key_in_the_place_of_its_variable_is_not_shown() -> None:
    with pytest.raises(UsageError, match="the judge llm: api_key_env expects the name") as told:
        make_spec_model(ComponentSpec.parse("judge", "llm:m(api_key_env=sk-abc123)"))
    assert "sk-abc" not in str(told.value)
