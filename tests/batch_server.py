"""An endpoint on loopback that offers the Batch API beside live calls.

with BatchServer(answer=str.upper) as server:
    OpenAIModel("m", ModelOptions(base_url=server.base_url))

A batch takes one step at every look: validating, in_progress (its calls are answered then),
finalizing, completed. `fate` gets the text of the last user message (or the prompt) and how often
it has been asked, from 1, and names what becomes of it in a batch: one of FATES, `missing` (no line
for it), `expired` (the batch expires before its turn), `refused` (no further call would do better).
`course` gets the number of a batch, from 1, and names what becomes of it: `completed`, `failed`,
`cancelled`, `stuck`. `breaks` names endpoints (PLACES) that answer their first request with 500;
`lose_reply` makes the first batch and answers 500 all the same.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web
from tests.chaos import Call, as_json, error
from tests.loopback import LoopbackServer

PLACES = ("upload", "create", "list", "get", "content")
_STEPS = ("validating", "in_progress", "finalizing")
_TOO_LONG = "This model's maximum context length is 4096 tokens. Please reduce your prompt."
_QUOTA = "You exceeded your current quota, please check your plan and billing details."
_LIMIT = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
    "'max_completion_tokens' instead."
)


def _said(message: str, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "error", "code": code}}


# Status and body, live and in a batch alike.
FATES: dict[str, Callable[[Call], tuple[int, dict[str, Any]]]] = {
    "ok": lambda call: (200, call.reply()),
    "length": lambda call: (200, call.reply(finish_reason="length")),
    "no-choices": lambda call: (200, call.reply(choices=[])),
    "400": lambda _: (400, _said("top_k is unknown here")),
    "too-long": lambda _: (400, _said(_TOO_LONG, "context_length_exceeded")),
    "twice": lambda call: (200, call.reply()),
    "403": lambda _: (403, _said("not for you")),
    "refused": lambda _: (429, _said(_QUOTA, "insufficient_quota")),
    "other-limit": lambda call: (
        (400, _said(_LIMIT, "unsupported_parameter"))
        if "max_tokens" in call.body
        else (200, call.reply())
    ),
}


@dataclass
class Made:
    """A batch at the endpoint."""

    number: int
    id: str
    file: str
    metadata: dict[str, str]
    course: str
    step: int = 0
    made: float = field(default_factory=time.time)
    results: dict[str, str] = field(default_factory=dict)
    done: int = 0
    expired: bool = False


class BatchServer(LoopbackServer):
    """The endpoint; `delay` slows every request."""

    def __init__(
        self,
        fate: Callable[[str, int], str] = lambda _text, _time: "ok",
        *,
        answer: Callable[[str], str] = lambda text: f"answer to {text}",
        course: Callable[[int], str] = lambda _number: "completed",
        breaks: Iterable[str] = (),
        lose_reply: bool = False,
        delay: float = 0.0,
    ) -> None:
        super().__init__()
        self.asked: Counter[str] = Counter()  # by text, in batches
        self.live: Counter[str] = Counter()
        self.requests: Counter[str] = Counter()  # by place
        self.files: dict[str, bytes] = {}
        self.batches: list[Made] = []
        self.headers: list[dict[str, str]] = []
        self.refuses: dict[str, int] = {}  # the status that a place answers with, while it is here
        self.shapes: dict[str, Any] = {}  # what a place answers, whatever it is asked
        self.course = course
        self._fate = fate
        self._answer = answer
        self._breaks = set(breaks)
        self._lose_reply = lose_reply
        self._delay = delay

    @property
    def lines(self) -> list[list[dict[str, Any]]]:
        """The calls of every batch."""
        return [[orjson.loads(x) for x in self.files[b.file].splitlines()] for b in self.batches]

    def app(self) -> web.Application:
        """The endpoint's files and batches, and live calls."""
        app = web.Application(client_max_size=1 << 30, middlewares=[self._watch])
        app.router.add_post("/v1/chat/completions", self._ask, name="live")
        app.router.add_post("/v1/completions", self._ask, name="live2")
        app.router.add_post("/v1/files", self._upload, name="upload")
        app.router.add_get("/v1/files/{id}/content", self._content, name="content")
        app.router.add_post("/v1/batches", self._create, name="create")
        app.router.add_get("/v1/batches", self._list, name="list")
        app.router.add_get("/v1/batches/{id}", self._get, name="get")
        return app

    @web.middleware
    async def _watch(self, request: web.Request, handler: Any) -> web.StreamResponse:
        place = request.match_info.route.name or "nowhere"
        self.requests[place] += 1
        self.headers.append(dict(request.headers))
        if place in self._breaks and self.requests[place] == 1:
            return error(500, "the server had an error")
        if place in self.refuses:
            return error(self.refuses[place], "not now")
        if place in self.shapes:
            return as_json(self.shapes[place])
        await asyncio.sleep(self._delay / 2)
        response: web.StreamResponse = await handler(request)
        await asyncio.sleep(self._delay / 2)
        return response

    def _call(self, body: dict[str, Any]) -> Call:
        text = body["prompt"] if "prompt" in body else body["messages"][-1]["content"]
        return Call(None, body, text, self._answer(text), 0.0)  # type: ignore[arg-type]

    async def _ask(self, request: web.Request) -> web.Response:
        call = self._call(orjson.loads(await request.read()))
        self.live[call.text] += 1
        status, body = FATES[self._fate(call.text, self.live[call.text])](call)
        return as_json(body, status)

    async def _upload(self, request: web.Request) -> web.Response:
        form = await request.post()
        assert form["purpose"] == "batch"
        file = form["file"]
        assert isinstance(file, web.FileField)
        return as_json({"id": self._keep(file.file.read()), "object": "file", "purpose": "batch"})

    def _keep(self, content: bytes) -> str:
        name = f"file-{len(self.files) + 1}"
        self.files[name] = content
        return name

    async def _content(self, request: web.Request) -> web.Response:
        return web.Response(body=self.files[request.match_info["id"]])

    async def _create(self, request: web.Request) -> web.Response:
        body = orjson.loads(await request.read())
        lines = [orjson.loads(line) for line in self.files[body["input_file_id"]].splitlines()]
        assert {line["url"] for line in lines} == {body["endpoint"]}
        assert {line["method"] for line in lines} == {"POST"}
        assert len({line["custom_id"] for line in lines}) == len(lines)
        assert body["completion_window"] == "24h"
        assert all(isinstance(value, str) for value in body["metadata"].values())
        number = len(self.batches) + 1
        course = self.course(number)
        batch = Made(number, f"batch_{number}", body["input_file_id"], body["metadata"], course)
        self.batches.append(batch)
        if course != "failed":
            self.asked.update(self._call(line["body"]).text for line in lines)
        if self._lose_reply and number == 1:
            return error(500, "the server had an error")
        return as_json(self._shown(batch))

    async def _list(self, request: web.Request) -> web.Response:
        assert int(request.query["limit"]) <= 100
        found = self.batches[::-1]
        after = request.query.get("after")
        if after:
            found = found[[b.id for b in found].index(after) + 1 :]
        page = found[:2]  # short pages, so that there is more than one
        shown = [self._shown(batch) for batch in page]
        return as_json({"object": "list", "data": shown, "has_more": len(found) > len(page)})

    async def _get(self, request: web.Request) -> web.Response:
        found = [b for b in self.batches if b.id == request.match_info["id"]]
        if not found:
            return error(404, "no such batch")
        batch = found[0]
        if batch.step < len(_STEPS) and batch.course != "stuck":
            batch.step += 1
            if batch.step == len(_STEPS):
                self._work(batch)
        return as_json(self._shown(batch))

    def _work(self, batch: Made) -> None:
        """Answer the calls; lines come in another order than they went."""
        if batch.course == "failed":
            return
        files: dict[str, list[bytes]] = {"output_file_id": [], "error_file_id": []}
        calls = [orjson.loads(line) for line in self.files[batch.file].splitlines()]
        random.Random(batch.number).shuffle(calls)
        if batch.course == "cancelled":
            calls = calls[: len(calls) // 2]
        for line in calls:
            call = self._call(line["body"])
            fate = self._fate(call.text, self.asked[call.text])
            if fate == "missing":
                continue
            shown: dict[str, Any] = {"id": "r", "custom_id": line["custom_id"], "error": None}
            if fate == "expired":
                batch.expired = True
                message = "This request could not be executed before the window expired."
                said = {"code": "batch_expired", "message": message}
                shown |= {"response": None, "error": said}
                files["error_file_id"].append(orjson.dumps(shown))
                continue
            status, body = FATES[fate](call)
            shown["response"] = {"status_code": status, "request_id": "q", "body": body}
            files["output_file_id" if status == 200 else "error_file_id"].append(
                orjson.dumps(shown)
            )
            if fate == "twice":
                shown["response"]["body"] = call.reply(content="that of another call")
                files["output_file_id"].append(orjson.dumps(shown))
            batch.done += 1
        batch.results = {
            name: self._keep(b"".join(line + b"\n" for line in lines))
            for name, lines in files.items()
            if lines
        }

    def _shown(self, batch: Made) -> dict[str, Any]:
        ended = batch.step == len(_STEPS)
        status = _STEPS[batch.step] if not ended else "expired" if batch.expired else batch.course
        errors = None
        if status == "failed":
            errors = {"object": "list", "data": [{"code": "x", "message": "bad file", "line": 2}]}
        total = self.files[batch.file].count(b"\n")
        return {
            "id": batch.id,
            "object": "batch",
            "endpoint": "/v1/chat/completions",
            "errors": errors,
            "input_file_id": batch.file,
            "completion_window": "24h",
            "status": status,
            "created_at": int(batch.made),
            f"{status}_at": int(batch.made) + 90,
            "output_file_id": batch.results.get("output_file_id"),
            "error_file_id": batch.results.get("error_file_id"),
            "request_counts": {"total": total, "completed": batch.done, "failed": 0},
            "metadata": batch.metadata,
        }
