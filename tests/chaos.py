"""An OpenAI-compatible endpoint on loopback that misbehaves on demand.

with ChaosServer(lambda text, call: "500" if call == 1 else "ok") as server:
    OpenAIModel("m", ModelOptions(base_url=server.base_url))

`behave` gets the text of the last user message (or the prompt) and how often it has come, from 1,
and names one of BEHAVIORS. `calls` counts the calls by text; `done` those that were answered.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import orjson
from aiohttp import web
from tests.loopback import LoopbackServer

KEY = "sk-chaos-5e1f0a9b7c3d4e6f8a2b"


@dataclass
class Call:
    """One request as it came, and the answer that a well-behaved endpoint gives."""

    request: web.Request
    body: dict[str, Any]
    text: str
    answer: str
    hang: float

    def reply(self, **changes: Any) -> dict[str, Any]:
        """The body of a good reply of the API that was called; `content` replaces the answer."""
        finish = changes.pop("finish_reason", "stop")
        content = changes.pop("content", self.answer)
        message = {"role": "assistant", "content": content, **changes.pop("message", {})}
        if "prompt" in self.body:
            choice = {"index": 0, "text": content, "finish_reason": finish}
        else:
            choice = {"index": 0, "message": message, "finish_reason": finish}
        usage = {"prompt_tokens": len(self.text.split()), "completion_tokens": 3}
        model = self.body["model"]
        return {"id": "1", "model": model, "choices": [choice], "usage": usage, **changes}


def as_json(value: Any, status: int = 200, **headers: str) -> web.Response:
    return web.Response(
        body=orjson.dumps(value), status=status, content_type="application/json", headers=headers
    )


def error(status: int, message: str, code: str | None = None, **headers: str) -> web.Response:
    return as_json(
        {"error": {"message": message, "type": "error", "code": code}}, status, **headers
    )


def _simple(make: Callable[[Call], web.Response]) -> Callable[[Call], Awaitable[Any]]:
    async def handle(call: Call) -> web.Response:
        return make(call)

    return handle


async def _hang(call: Call) -> web.Response:
    await asyncio.sleep(call.hang)
    return as_json(call.reply())


async def _drip(call: Call) -> web.StreamResponse:
    """Whole and right, one byte at a time over the time that `hang` names."""
    body = orjson.dumps(call.reply())
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(call.request)
    for byte in body:
        await response.write(bytes([byte]))
        await asyncio.sleep(call.hang / len(body))
    return response


async def _reset(call: Call) -> web.Response:
    assert call.request.transport is not None
    call.request.transport.abort()
    return web.Response()


async def _cut(call: Call) -> web.StreamResponse:
    """Fewer bytes than announced, then the end of the connection."""
    body = orjson.dumps(call.reply())
    response = web.StreamResponse(headers={"Content-Length": str(len(body))})
    await response.prepare(call.request)
    await response.write(body[: len(body) // 2])
    assert call.request.transport is not None
    call.request.transport.close()
    return response


def _raw(change: Callable[[bytes], bytes], kind: str = "application/json", **headers: str) -> Any:
    """The good reply with other bytes."""

    def make(call: Call) -> web.Response:
        body = change(orjson.dumps(call.reply()))
        return web.Response(body=body, headers={"Content-Type": kind, **headers})

    return _simple(make)


def _choice(**fields: Any) -> Callable[[Call], Awaitable[Any]]:
    """A reply with one choice of another shape."""
    return _simple(lambda call: as_json(call.reply(choices=[fields])))


_TOO_LONG = "This model's maximum context length is 4096 tokens. Please reduce your prompt."
_QUOTA = "You exceeded your current quota, please check your plan and billing details."
BEHAVIORS: dict[str, Callable[[Call], Awaitable[Any]]] = {
    "ok": _simple(lambda call: as_json(call.reply())),
    "429": _simple(lambda _: error(429, "slow down", "rate_limit_exceeded")),
    "429-wait": _simple(lambda _: error(429, "slow down", **{"Retry-After": "1"})),
    "429-long": _simple(lambda _: error(429, "slow down", **{"Retry-After": "86400"})),
    "429-quota": _simple(lambda _: error(429, _QUOTA, "insufficient_quota")),
    "500": _simple(lambda _: error(500, "the server had an error")),
    "502": _simple(lambda _: web.Response(status=502, text="<html>Bad Gateway</html>")),
    "529": _simple(lambda _: error(529, "overloaded")),
    "hang": _hang,
    "drip": _drip,
    "reset": _reset,
    "cut": _cut,
    "cut-json": _simple(
        lambda call: web.Response(
            body=orjson.dumps(call.reply())[:-40], content_type="application/json"
        )
    ),
    "html": _simple(lambda _: web.Response(text="<html>Log in</html>", content_type="text/html")),
    "no-choices": _simple(lambda call: as_json(call.reply(choices=[]))),
    "no-field": _simple(lambda call: as_json({"id": "1", "model": call.body["model"]})),
    "null": _simple(lambda call: as_json(call.reply(content=None))),
    "tool": _simple(
        lambda call: as_json(
            call.reply(content=None, message={"tool_calls": [{}]}, finish_reason="tool_calls")
        )
    ),
    "filtered": _simple(
        lambda call: as_json(call.reply(content="", finish_reason="content_filter"))
    ),
    "empty": _simple(lambda call: as_json(call.reply(content=""))),
    "refusal": _simple(
        lambda call: as_json(call.reply(content=None, message={"refusal": "I cannot help."}))
    ),
    "filter": _simple(lambda call: as_json(call.reply(finish_reason="content_filter"))),
    "length": _simple(lambda call: as_json(call.reply(finish_reason="length"))),
    "limit": _simple(lambda call: as_json(call.reply(finish_reason="MAX_TOKENS"))),
    "giant": _simple(lambda call: as_json(call.reply(content="x" * 70_000_000))),
    "deep": _raw(lambda body: b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"," + body[1:]),
    "odd-usage": _raw(lambda body: body.replace(b'"completion_tokens":3', b'"x":1e999')),
    "latin-1": _raw(
        lambda body: body.replace(b"why?", b"\xe9t\xe9"), "application/json; charset=iso-8859-1"
    ),
    "marked": _raw(lambda body: b"\xef\xbb\xbf" + body),
    "sse": _raw(lambda body: b"data: " + body + b"\n\ndata: [DONE]\n\n", "text/event-stream"),
    "packed": _raw(lambda body: body, **{"Content-Encoding": "br"}),
    "big-header": _raw(lambda body: body, **{"X-Trace": "x" * 20_000}),
    "number": _choice(message={"content": 42}),
    "dict": _choice(message={"content": {"text": "Paris"}}),
    "bare-message": _choice(message="Paris"),
    "list": _simple(lambda call: as_json([call.reply()])),
    "odd-finish": _simple(lambda call: as_json(call.reply(finish_reason=["stop"]))),
    "our-word": _simple(lambda call: as_json(call.reply(finish_reason="unreachable"))),
    "thinks-on": _simple(lambda call: as_json(call.reply(content="<think>hm"))),
    "other-model": _simple(lambda call: as_json(call.reply(model="somebody-else"))),
    "error-inside": _simple(
        lambda _: as_json({"error": {"message": "no such thing", "code": 400}})
    ),
    "busy-inside": _simple(lambda _: as_json({"error": {"message": "busy", "code": 503}})),
    "too-long": _simple(lambda _: error(400, _TOO_LONG, "context_length_exceeded")),
    "400": _simple(lambda _: error(400, "top_k is unknown here")),
    "401": _simple(
        lambda call: error(401, f"Incorrect API key: {call.request.headers.get('Authorization')}")
    ),
    "403": _simple(lambda _: error(403, "not for you")),
    "404": _simple(lambda _: error(404, "the model does not exist", "model_not_found")),
}


class ChaosServer(LoopbackServer):
    """The endpoint.

    `answer` makes the good answer from a text; `hang` is the seconds that `hang` and `drip` take.
    """

    def __init__(
        self,
        behave: Callable[[str, int], str] = lambda text, call: "ok",
        *,
        answer: Callable[[str], str] = lambda text: f"answer to {text}",
        delay: float = 0.0,
        hang: float = 30.0,
    ) -> None:
        self.calls: Counter[str] = Counter()
        self.done: Counter[str] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        super().__init__()
        self._behave = behave
        self._answer = answer
        self._delay = delay
        self._hang = hang

    def app(self) -> web.Application:
        """Chat and plain completions."""
        app = web.Application(client_max_size=1 << 30)
        app.router.add_post("/v1/chat/completions", self._handle)
        app.router.add_post("/v1/completions", self._handle)
        return app

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = orjson.loads(await request.read())
        text = body["prompt"] if "prompt" in body else body["messages"][-1]["content"]
        self.calls[text] += 1
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        behavior = self._behave(text, self.calls[text])
        if self._delay:
            await asyncio.sleep(self._delay)
        call = Call(request, body, text, self._answer(text), self._hang)
        response = await BEHAVIORS[behavior](call)
        self.done[text] += 1
        return response
