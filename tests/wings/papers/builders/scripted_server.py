"""An OpenAI-compatible endpoint on loopback whose replies a function writes.

with scripted(lambda body: {"answer": "yes"}) as server:
    build(..., models={"writer": f"m(base_url={server.url})"})

`answer` gets the request's JSON body and gives the reply's text, or an object that is sent as JSON
text, or (HTTP status, error body). It runs in the server's thread. `server.calls` are the bodies in
the order they came, `server.texts` their last messages, `server.answered` those whose reply went.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from aiohttp import web
from tests.loopback import LoopbackServer

Answer = Callable[[dict[str, Any]], str | dict[str, Any] | tuple[int, dict[str, Any]]]
_NO_SCHEMA = {"error": {"message": "response_format is not supported here", "type": "invalid"}}
_BUSY = {"error": {"message": "slow down", "type": "error", "code": "rate_limit_exceeded"}}
_BROKEN = {"error": {"message": "the server had an error", "type": "error"}}


class ScriptedServer(LoopbackServer):
    """The endpoint; every Nth request (from the Nth on) meets what `busy` and the others say.

    `delay` is seconds before a reply; `busy`, `broken`, `hangs_up`: 429, 500, and an end of the
    connection without a reply; with `offers_schema` False, `response_format` is answered with 400.
    """

    def __init__(
        self,
        answer: Answer,
        *,
        delay: float = 0.0,
        busy: int = 0,
        broken: int = 0,
        hangs_up: int = 0,
        offers_schema: bool = True,
    ) -> None:
        super().__init__()
        self.calls: list[dict[str, Any]] = []
        self.answered: list[dict[str, Any]] = []
        self.refused = 0  # calls that were refused for their response_format
        self.most_at_once = 0
        self.answer = answer
        self.delay = delay
        self.offers_schema = offers_schema
        self._odd = {"busy": busy, "broken": broken, "hangs_up": hangs_up}
        self._at_once = 0

    @property
    def url(self) -> str:
        """Where it is; ends in /v1."""
        return self.base_url

    @property
    def texts(self) -> list[str]:
        """The last message, or the prompt, of every call."""
        return [last_text(body) for body in self.calls]

    def app(self) -> web.Application:
        """Chat and plain completions."""
        app = web.Application(client_max_size=1 << 30)
        app.router.add_post("/v1/chat/completions", self._handle)
        app.router.add_post("/v1/completions", self._handle)
        return app

    async def _handle(self, request: web.Request) -> web.Response:
        body = json.loads(await request.read())
        self.calls.append(body)
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            if self.delay:
                await asyncio.sleep(self.delay)
            return self._reply(request, body, len(self.calls))
        finally:
            self._at_once -= 1

    def _reply(self, request: web.Request, body: dict[str, Any], number: int) -> web.Response:
        met = next((name for name, n in self._odd.items() if n and number % n == 0), None)
        if met == "hangs_up":
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if met is not None:
            return _json(_BUSY, 429) if met == "busy" else _json(_BROKEN, 500)
        if "response_format" in body and not self.offers_schema:
            self.refused += 1
            return _json(_NO_SCHEMA, 400)
        said = self.answer(body)
        self.answered.append(body)
        if isinstance(said, tuple):
            return _json(said[1], said[0])
        text = said if isinstance(said, str) else json.dumps(said)
        return _json(_completion(body, text))


def scripted(answer: Answer, **options: Any) -> ScriptedServer:
    """The server, to be entered."""
    return ScriptedServer(answer, **options)


def last_text(body: dict[str, Any]) -> str:
    """The text of a request's last message, or its prompt."""
    text: str = body["prompt"] if "prompt" in body else body["messages"][-1]["content"]
    return text


def all_text(body: dict[str, Any]) -> str:
    """The texts of all messages of a request."""
    if "prompt" in body:
        return last_text(body)
    return "\n".join(message["content"] for message in body["messages"])


def _completion(body: dict[str, Any], text: str) -> dict[str, Any]:
    asked = len(all_text(body).split())
    choice: dict[str, Any] = {"index": 0, "finish_reason": "stop"}
    if "prompt" in body:
        choice["text"] = text
    else:
        choice["message"] = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": asked, "completion_tokens": len(text.split())}
    return {"id": "1", "model": body["model"], "choices": [choice], "usage": usage}


def _json(value: Any, status: int = 200) -> web.Response:
    """Escaped, as lone surrogates have no other form."""
    return web.Response(
        body=json.dumps(value).encode(), status=status, content_type="application/json"
    )
