"""The endpoint's side of batches: what goes up, what comes down, and that nothing is made twice."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import orjson
import pytest
from tests.batch_server import BatchServer
from tests.chaos import KEY

from trueground.errors import UsageError
from trueground.models import batch_runner
from trueground.models.base import ChatRequest, Message, Params, Reply
from trueground.models.batch_runner import write_files
from trueground.models.batches import BatchApi, EndpointBatch, read_line
from trueground.models.openai import OpenAIModel
from trueground.models.options import ModelOptions
from trueground.models.replay import FakeModel
from trueground.net.failures import HttpError
from trueground.types import Status

T = TypeVar("T")
ASK = ChatRequest((Message("system", "Be exact."), Message("user", "Who?")), Params(max_tokens=5))
URL = "/v1/chat/completions"


def through(server: BatchServer, work: Callable[[BatchApi], Awaitable[T]], **more: Any) -> T:
    """What the work gives with an open API."""

    async def do() -> T:
        model = OpenAIModel("m", ModelOptions(base_url=server.base_url, **more))
        api = BatchApi(model)
        try:
            return await work(api)
        finally:
            await model.close()

    return asyncio.run(do())


def result(response: Any = None, error: Any = None) -> bytes:
    return orjson.dumps({"id": "1", "custom_id": "a", "response": response, "error": error})


def body(content: str = "yes", **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": content}}
    usage = {"prompt_tokens": 4, "completion_tokens": 2}
    return {"model": "m-1", "choices": [{**choice, **more}], "usage": usage}


def test_who_can_do_batches() -> None:
    model = OpenAIModel("m", ModelOptions(base_url="http://127.0.0.1:9"))
    assert batch_runner.BatchRequestRunner.check_model(model) is model
    with pytest.raises(UsageError):
        batch_runner.BatchRequestRunner.check_model(FakeModel("x"))


def test_a_reply_is_read_like_a_live_one() -> None:
    found = read_line(result({"status_code": 200, "body": body("<think>hm</think>yes")}))
    assert found is not None
    assert found.custom_id == "a"
    assert found.reply is not None
    assert (found.reply.text, found.reply.reasoning, found.reply.model) == ("yes", "hm", "m-1")
    assert (found.reply.usage.tokens_in, found.reply.usage.tokens_out) == (4, 2)
    cut = read_line(result({"status_code": 200, "body": body("y", finish_reason="length")}))
    assert cut is not None
    assert cut.reply is not None
    assert cut.reply.status is Status.TRUNCATED


@pytest.mark.parametrize(
    ("status", "error", "expected", "words"),
    [
        (400, {"message": "top_k is unknown"}, (Status.ERROR, None), "HTTP 400: top_k is unknown"),
        (400, {"message": "x", "code": "context_length_exceeded"}, (Status.TOO_LONG, None), "x"),
        (500, {"message": "oh"}, (Status.ERROR, None), "HTTP 500: oh"),
        (
            429,
            {"message": "q", "code": "insufficient_quota"},
            (Status.ERROR, Reply.UNREACHABLE),
            "q",
        ),
        (404, {"message": "no such model"}, (Status.ERROR, Reply.UNREACHABLE), "no such model"),
        (200, {"message": "inside"}, (Status.ERROR, None), "inside"),
    ],
)
def test_failures_are_those_of_live_calls(
    status: int, error: dict[str, str], expected: tuple[Status, str | None], words: str
) -> None:
    found = read_line(result({"status_code": status, "body": {"error": error}}))
    assert found is not None
    assert found.reply is not None
    assert (found.reply.status, found.reply.finish_reason) == expected
    assert words in (found.reply.error or "")


def test_calls_whose_turn_never_came_count_as_not_asked() -> None:
    for code in ("batch_expired", "batch_cancelled"):
        found = read_line(result(error={"code": code, "message": "too late"}))
        assert found == ("a", None, False)
    found = read_line(result(error={"code": "other", "message": "broken"}))
    assert found is not None
    assert found.reply is not None
    assert found.reply.status is Status.ERROR
    assert found.reply.error == "the batch has no reply to this request: broken"
    nothing = read_line(result())
    assert nothing is not None
    assert nothing.reply is not None
    assert "no reason given" in (nothing.reply.error or "")


def test_a_wish_for_the_other_limit_is_seen() -> None:
    words = "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    found = read_line(result({"status_code": 400, "body": {"error": {"message": words}}}))
    assert found is not None
    assert found.other_limit


def test_lines_that_are_not_strict_json() -> None:
    line = result({"status_code": 200, "body": body("x", logprobs=None)})
    for wrong, text in ((b'"x"', "x"), (b'"\\ud83d"', "\ufffd"), (b'"\xff"', "\ufffd")):
        bent = line.replace(b'"x"', wrong).replace(b'"logprobs":null', b'"logprobs":NaN')
        found = read_line(bent)
        assert found is not None
        assert found.reply is not None
        assert found.reply.text == text
    for nothing in (b"", b"\n", b"[]", b"{}", line[:40], b"[" * 100_000, b'{"custom_id": 1}'):
        assert read_line(nothing) is None


def test_no_secret_comes_through() -> None:
    for line in (
        result({"status_code": 400, "body": {"error": {"message": f"Bearer {KEY}"}}}),
        result({"status_code": 200, "body": body(f"the key is {KEY}")}),
        result(error={"message": KEY}),
    ):
        assert KEY not in str(read_line(line, (KEY,)))


def test_files_are_filled_to_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "calls"
    lines = [orjson.dumps({"url": URL, "n": "x" * n}) + b"\n" for n in (1, 1, 1, 500, 1, 1)]

    def sizes(requests: int = 50_000, size: int = 190_000_000) -> list[int]:
        monkeypatch.setattr(batch_runner, "MAX_REQUESTS", requests)
        monkeypatch.setattr(batch_runner, "MAX_BYTES", size)
        found, whole = [], b""
        for written in write_files(iter(lines), path):
            content = path.read_bytes()
            whole += content
            assert written.sha256 == sha256(content).hexdigest()
            assert written.url == URL
            assert written.requests == content.count(b"\n")
            found.append(written.requests)
        assert whole == b"".join(lines)
        return found

    assert sizes() == [6]
    assert sizes(requests=4) == [4, 2]
    assert sizes(requests=3) == [3, 3]
    assert sizes(size=200) == [3, 1, 2]  # a call beyond the limit has its own
    assert list(write_files(iter([]), path)) == []


def test_a_batch_from_end_to_end(tmp_path: Path) -> None:
    async def work(api: BatchApi) -> tuple[EndpointBatch, list[str]]:
        path = tmp_path / "calls.jsonl"
        path.write_bytes(api.line("a", ASK, "max_tokens") + api.line("b", ASK, "other"))
        batch = await api.create(await api.upload(path), URL, {"trueground": "t"})
        while not batch.ended:
            batch = await api.get(batch.id)
        results = [r async for r in api.results(batch, tmp_path / "results")]
        return batch, sorted(r.custom_id for r in results if r.reply and r.reply.text == "WHO?")

    with BatchServer(answer=str.upper) as server:
        batch, ids = through(server, work)
        bodies = [line["body"] for line in server.lines[0]]
    assert ids == ["a", "b"]
    assert batch.seconds == 90.0
    assert batch.done == 2
    assert (bodies[0]["max_tokens"], bodies[1]["other"]) == (5, 5)
    assert "max_tokens" not in bodies[1]


def test_a_batch_is_found_on_a_later_page(tmp_path: Path) -> None:
    async def work(api: BatchApi) -> list[str | None]:
        path = tmp_path / "calls.jsonl"
        path.write_bytes(api.line("a", ASK, "max_tokens"))
        files = [await api.upload(path) for _ in range(5)]
        for number, file in enumerate(files):
            await api.create(file, URL, {"trueground": "t", "part": str(number)})
        found = [
            await api.find(files[0], {"trueground": "?"}),
            await api.find("?", {"trueground": "t", "part": "1"}),
            await api.find("?", {"trueground": "t", "part": "9"}),
        ]
        return [batch.id if batch else None for batch in found]

    with BatchServer() as server:
        assert through(server, work) == ["batch_1", "batch_2", None]


def test_batch_api_rejects_unexpected_reply(tmp_path: Path) -> None:
    async def work(api: BatchApi) -> None:
        await api.get("batch_1")

    with BatchServer() as server:
        with pytest.raises(HttpError, match=r"HTTP 404.*no such batch") as caught:
            through(server, work)
        assert not caught.value.retryable
        server.shapes = {"get": {"object": "batch"}}
        with pytest.raises(HttpError, match=r"doesn't match the Batch API.*id"):
            through(server, work)


def test_batch_reason_has_status_and_errors() -> None:
    errors = [{"message": f"bad {KEY}", "line": 3}, "plain", {"code": "x"}, {"message": "fourth"}]
    batch = EndpointBatch("b", "failed", errors={"data": errors}, created_at="yesterday")
    assert batch.reason == "batch b is failed: bad [hidden] (line 3); plain; x"
    assert batch.seconds == 0.0
    assert batch.done == 0
    assert EndpointBatch("b", "EXPIRED").ended
    assert not EndpointBatch("b", "cancelling").ended
