"""The laws that every kind of model keeps, each reached by its name as users reach it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest

from trueground.models.base import ChatModel, ChatRequest, Message, Params, Reply
from trueground.models.options import ModelOptions
from trueground.models.registry import make_model
from trueground.types import Status

SECRET = "sk-never-to-be-seen"
TEXTS = [f"Question {number}: {'why ' * (number % 7)}?" for number in range(40)]
Make = Callable[[], ChatModel]


def asked(text: str) -> ChatRequest:
    messages = (Message("system", "Be brief."), Message("user", text))
    return ChatRequest(messages, Params(temperature=0.0, max_tokens=16))


class _Echo(BaseHTTPRequestHandler):
    """An endpoint that answers with the question."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one piece

    def do_POST(self) -> None:
        assert self.headers["Authorization"] == f"Bearer {SECRET}"
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = {"role": "assistant", "content": body["messages"][-1]["content"]}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        reply = json.dumps({"model": body["model"], "choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_args: object) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Echo) as server:
        server.daemon_threads = True
        server.block_on_close = False
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def responses(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("replay") / "responses.jsonl"
    lines = [
        {"id": n, "prompt_sha256": asked(text).prompt_sha256, "response": f"No. {n}"}
        for n, text in enumerate(TEXTS)
    ]
    file.write_text("\n".join(map(json.dumps, lines)))
    return file


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch", reason="the hf extra is not installed")
    pytest.importorskip("transformers", reason="the hf extra is not installed")
    from tests.models import tiny_models

    return tiny_models.save_decoder(tmp_path_factory.mktemp("hf"))


@pytest.fixture(params=["fake", "replay", "openai", "hf"])
def make(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Make a model of one kind."""
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("HF_TOKEN", SECRET)
    options = ModelOptions()
    if request.param == "fake":
        name = "fake:echo"
    elif request.param == "replay":
        name = f"replay:{request.getfixturevalue('responses')}"
    elif request.param == "hf":
        name = f"hf:{request.getfixturevalue('decoder')}"
    else:
        name = "some/model:8b"
        options = ModelOptions(base_url=request.getfixturevalue("endpoint"))
    return lambda: make_model(name, options)


async def answers(model: ChatModel, texts: list[str]) -> list[Reply]:
    return await asyncio.gather(*(model.generate(asked(text)) for text in texts))


def test_it_says_what_it_is(make: Make) -> None:
    model, same = make(), make()
    assert model.name
    assert isinstance(model.signature, str)
    assert model.signature == same.signature != ""
    assert isinstance(model.cacheable, bool)
    assert model.concurrency >= 1
    for shown in (model.name, model.signature, repr(model), str(vars(model))):
        assert SECRET not in shown
    asyncio.run(model.close())


def test_every_call_gets_its_own_answer(make: Make) -> None:
    async def both() -> tuple[list[Reply], list[Reply]]:
        model = make()
        try:
            return [await model.generate(asked(t)) for t in TEXTS], await answers(model, TEXTS)
        finally:
            await model.close()

    one_by_one, at_once = asyncio.run(both())
    assert all(isinstance(reply, Reply) for reply in at_once)
    assert {reply.status for reply in at_once} <= {None, Status.TRUNCATED}
    assert [reply.text for reply in at_once] == [reply.text for reply in one_by_one]
    assert len({reply.text for reply in at_once}) > len(TEXTS) * 0.9


def test_replies_can_be_written_down(make: Make) -> None:
    async def one() -> Reply:
        model = make()
        try:
            return await model.generate(asked(TEXTS[0]))
        finally:
            await model.close()

    reply = asyncio.run(one())
    written = msgspec.json.encode(reply)
    assert SECRET.encode() not in written
    assert msgspec.json.decode(written, type=Reply) == reply


def test_closing_twice_is_fine(make: Make) -> None:
    async def close() -> None:
        unused = make()
        await unused.close()
        await unused.close()
        used = make()
        await used.generate(asked(TEXTS[0]))
        await used.close()
        await used.close()

    asyncio.run(close())


def test_one_event_loop_after_another(make: Make) -> None:
    model = make()

    async def use() -> list[str]:
        texts = [reply.text for reply in await answers(model, TEXTS[:4])]
        await model.close()
        return texts

    assert asyncio.run(use()) == asyncio.run(use())


def test_a_call_given_up_leaves_the_others(make: Make) -> None:
    async def give_up() -> list[str]:
        model = make()
        calls = [asyncio.create_task(model.generate(asked(text))) for text in TEXTS[:6]]
        await asyncio.sleep(0)
        calls[2].cancel()
        ends = await asyncio.gather(*calls, return_exceptions=True)
        again = await model.generate(asked(TEXTS[2]))
        await model.close()
        assert again.status in (None, Status.TRUNCATED)
        return [end.text for end in ends if isinstance(end, Reply)]

    assert len(asyncio.run(give_up())) >= 5
