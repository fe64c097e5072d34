"""Models behind an endpoint that misbehaves in every way known."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.chaos import BEHAVIORS, KEY, ChaosServer

from trueground.errors import InputError, UsageError
from trueground.models.base import (
    ChatRequest,
    Message,
    Params,
    Reply,
    TokenUsage,
)
from trueground.models.batches import read_line
from trueground.models.openai import OpenAIModel, find_endpoint
from trueground.models.openai_replies import (
    failed,
    read_error,
    read_reply,
    refused,
    split_thinking,
)
from trueground.models.options import ModelOptions
from trueground.models.prompts import lay_out, read_wrapper
from trueground.net.failures import HttpError, HttpReply
from trueground.types import Status


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def asking(text: str, **params: Any) -> ChatRequest:
    return ChatRequest((Message("user", text),), Params(**params))


def make(server: ChaosServer, **options: Any) -> OpenAIModel:
    chosen = ModelOptions(base_url=server.base_url, **options)
    model = OpenAIModel("m-1", chosen)
    model.client = model.endpoint.client(chosen, backoff=0.001)
    return model


def replies(model: OpenAIModel, requests: Iterable[ChatRequest]) -> list[Reply]:
    async def main() -> list[Reply]:
        try:
            return await asyncio.gather(*(model.generate(request) for request in requests))
        finally:
            await model.close()

    return asyncio.run(main())


def one(behavior: str, request: ChatRequest | None = None, **options: Any) -> tuple[Reply, Any]:
    """The reply to one call of an endpoint that always behaves like this, and the endpoint."""
    with ChaosServer(lambda text, call: behavior, hang=5) as server:
        # Short only where the endpoint never answers: 70 MB may take a while on a busy machine.
        timeout = 0.3 if behavior in ("hang", "drip") else 10.0
        options = {"timeout": timeout, "max_attempts": 3, **options}
        model = make(server, **options)
        return replies(model, [request or asking("why?")])[0], server


ANSWER = "answer to why?"
# behavior: (status, text, words in the error, finish reason, calls)
ENDS: dict[str, tuple[Status | None, str, str, str | None, int]] = {
    "ok": (None, ANSWER, "", "stop", 1),
    "429": (Status.ERROR, "", "HTTP 429: slow down (3 attempts)", None, 3),
    "429-wait": (Status.ERROR, "", "HTTP 429: slow down (3 attempts)", None, 3),
    "429-long": (Status.ERROR, "", "asks to wait 86400 s", None, 1),
    "429-quota": (Status.ERROR, "", "exceeded your current quota", "unreachable", 1),
    "500": (Status.ERROR, "", "HTTP 500: the server had an error (3 attempts)", None, 3),
    "502": (Status.ERROR, "", "HTTP 502: <html>Bad Gateway</html> (3 attempts)", None, 3),
    "529": (Status.ERROR, "", "HTTP 529", None, 3),
    "hang": (Status.ERROR, "", "no complete reply within 0.3 s (3 attempts)", None, 3),
    "drip": (Status.ERROR, "", "no complete reply within 0.3 s (2 attempts)", None, 2),
    "reset": (Status.ERROR, "", "the connection broke", None, 3),
    "cut": (Status.ERROR, "", "the connection broke", None, 2),
    "cut-json": (Status.ERROR, "", "isn't complete JSON (application/json", None, 2),
    "html": (Status.ERROR, "", "isn't complete JSON (text/html", None, 2),
    "no-choices": (Status.ERROR, "", "has no answer", None, 1),
    "no-field": (Status.ERROR, "", "has no answer", None, 1),
    "null": (Status.ERROR, "", "the reply has no text, but null", "stop", 1),
    "tool": (Status.ERROR, "", "the model called a tool instead of answering", "tool_calls", 1),
    "filtered": (Status.ERROR, "", "a content filter removed", "content_filter", 1),
    "empty": (None, "", "", "stop", 1),
    "refusal": (None, "I cannot help.", "", "stop", 1),
    "filter": (None, ANSWER, "", "content_filter", 1),
    "length": (Status.TRUNCATED, ANSWER, "", "length", 1),
    "limit": (Status.TRUNCATED, ANSWER, "", "MAX_TOKENS", 1),
    "giant": (Status.ERROR, "", "larger than 64,000,000 bytes", None, 1),
    "deep": (Status.ERROR, "", "nested too deeply", None, 1),
    "odd-usage": (None, ANSWER, "", "stop", 1),
    "latin-1": (None, "answer to été", "", "stop", 1),
    "marked": (None, ANSWER, "", "stop", 1),
    "sse": (Status.ERROR, "", "isn't complete JSON (text/event-stream", None, 2),
    "packed": (Status.ERROR, "", "Can not decode content-encoding: brotli", None, 1),
    "big-header": (Status.ERROR, "", "isn't valid HTTP: Got more than", None, 1),
    "number": (Status.ERROR, "", "an unexpected structure", None, 1),
    "dict": (Status.ERROR, "", "an unexpected structure", None, 1),
    "bare-message": (Status.ERROR, "", "an unexpected structure", None, 1),
    "list": (Status.ERROR, "", "an unexpected structure", None, 1),
    "odd-finish": (None, ANSWER, "", None, 1),
    "our-word": (None, ANSWER, "", "unreachable (endpoint)", 1),
    "thinks-on": (Status.ERROR, "", "the reply has no text, but thoughts", "stop", 1),
    "other-model": (None, ANSWER, "", "stop", 1),
    "error-inside": (Status.ERROR, "", "HTTP 200 with an error: no such thing", None, 1),
    "busy-inside": (Status.ERROR, "", "with an error: busy (3 attempts)", None, 3),
    "too-long": (Status.TOO_LONG, "", "maximum context length is 4096", None, 1),
    "400": (Status.ERROR, "", "HTTP 400: top_k is unknown here", None, 1),
    "401": (Status.ERROR, "", "/v1/chat/completions: Incorrect API key", "unreachable", 1),
    "403": (Status.ERROR, "", "HTTP 403 from http://127.0.0.1:", "unreachable", 1),
    "404": (Status.ERROR, "", "the model does not exist", "unreachable", 1),
}


def test_every_behavior_has_its_end() -> None:
    assert set(ENDS) == set(BEHAVIORS)


@pytest.mark.parametrize("behavior", ENDS)
def test_a_call_ends_in_a_text_or_a_reason(behavior: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    status, text, words, finish, calls = ENDS[behavior]
    reply, server = one(behavior)
    assert (reply.status, reply.text, reply.finish_reason) == (status, text, finish)
    assert words in (reply.error or "")
    assert (reply.error is None) == (status in (None, Status.TRUNCATED))
    assert server.calls == {"why?": calls}
    assert reply.calls == calls
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert KEY not in repr(reply) + caplog.text
    assert reply.refusal == (behavior in ("refusal", "filter", "filtered"))


@pytest.mark.long
def test_chaos_passes_and_every_call_ends_once() -> None:
    passing = ["429", "429-wait", "500", "502", "529", "hang", "reset", "busy-inside"]
    paid = ["drip", "cut", "cut-json", "html", "sse"]  # asked for once more, and not again
    lasting = ["ok", "null", "too-long", "400", "401", "no-choices", "length"]

    def behave(text: str, call: int) -> str:
        behavior = text.split()[0]
        return behavior if behavior in lasting or call <= 2 - (behavior in paid) else "ok"

    texts = [f"{behavior} {n}" for n in range(3) for behavior in passing + paid + lasting]
    with ChaosServer(behave, hang=12) as server:
        model = make(server, timeout=4, max_connections=16)
        made = replies(model, [asking(text) for text in texts])
    for text, reply in zip(texts, made, strict=True):
        behavior = text.split()[0]
        assert reply.calls == server.calls[text]
        if behavior in passing + paid:
            assert (reply.text, reply.error) == (f"answer to {text}", None), text
            assert server.calls[text] == (2 if behavior in paid else 3), text
        else:
            assert (reply.status, reply.finish_reason) == (ENDS[behavior][0], ENDS[behavior][3])
            assert server.calls[text] == 1, text


def test_who_answered_and_what_it_took() -> None:
    reply, _ = one("other-model")
    assert reply.model == "somebody-else"
    assert reply.usage == TokenUsage(tokens_in=1, tokens_out=3)


def test_generate_without_server_is_unreachable() -> None:
    with ChaosServer() as server:
        pass
    reply = replies(make(server, max_attempts=2), [asking("why?")])[0]
    assert (reply.status, reply.finish_reason) == (Status.ERROR, "unreachable")
    place = server.base_url.removesuffix("/v1")
    assert (reply.error or "").startswith(f"cannot connect to {place}: Connect call failed")
    assert "(2 attempts)" in (reply.error or "")


def test_only_given_parameters_are_sent() -> None:
    system = Message("system", "be brief")
    request = ChatRequest((system, Message("user", "why?")))
    _, server = one("ok", request)
    messages = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "why?"}]
    assert server.bodies == [{"model": "m-1", "messages": messages}]


def test_all_parameters_are_sent() -> None:
    given: dict[str, Any] = {"temperature": 0.0, "top_p": 0.9, "top_k": 5, "min_tokens": 1}
    given |= {"max_tokens": 9, "seed": 0, "stop": ("a", "b")}
    request = asking("why?", **given, logprobs=4, extra={"reasoning_effort": "low", "user": None})
    _, server = one("ok", request, extra={"user": "me", "store": False})
    body = server.bodies[0]
    assert {name: body[name] for name in given} == {**given, "stop": ["a", "b"]}
    assert (body["logprobs"], body["top_logprobs"]) == (True, 4)
    assert (body["reasoning_effort"], body["user"], body["store"]) == ("low", None, False)


@pytest.mark.parametrize(("least", "kept"), [(1, False), (2, True)])
def test_a_least_of_one_token_is_given_up_where_it_is_refused(
    monkeypatch: pytest.MonkeyPatch, least: int, kept: bool
) -> None:
    from tests import chaos

    async def plain(call: chaos.Call) -> Any:
        if "min_tokens" in call.body:
            return chaos.error(400, "Unrecognized request argument supplied: min_tokens", "invalid")
        return chaos.as_json(call.reply())

    monkeypatch.setitem(BEHAVIORS, "plain", plain)
    with ChaosServer(lambda text, call: "plain") as server:
        model = make(server, max_connections=1)
        made = replies(model, [asking(f"{n}", min_tokens=least) for n in range(3)])
    assert [bool(reply.text) for reply in made] == [not kept] * 3
    sent = ["min_tokens" in body for body in server.bodies]
    assert (sent.count(True), sent.count(False)) == (3, 0 if kept else 3)
    _, server = one("ok", asking("why?", min_tokens=1))
    assert server.bodies[0]["min_tokens"] == 1


def test_completions(tmp_path: Path) -> None:
    request = ChatRequest(
        (Message("system", "be brief"), Message("user", "why?")), Params(max_tokens=5, logprobs=2)
    )
    reply, server = one("ok", request, api="completions")
    prompt = "be brief\n\nwhy?\n"
    assert reply.text == f"answer to {prompt}"
    sent = {"model": "m-1", "prompt": prompt, "max_tokens": 5, "logprobs": 2}
    assert server.bodies == [sent]
    wrapper = tmp_path / "wrapper.txt"
    wrapper.write_text("[S]{system}[U]{user}[A]")
    _, server = one("ok", request, api="completions", wrapper=wrapper)
    assert server.bodies[0]["prompt"] == "[S]be brief[U]why?[A]"


def test_the_newer_name_of_the_token_limit_is_learned_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tests import chaos

    words = (
        "Unsupported parameter: 'max_tokens' is not supported with this model. "
        "Use 'max_completion_tokens' instead."
    )

    async def picky(call: chaos.Call) -> Any:
        if "max_tokens" in call.body:
            return chaos.error(400, words, "unsupported_parameter")
        return chaos.as_json(call.reply())

    monkeypatch.setitem(BEHAVIORS, "picky", picky)
    with ChaosServer(lambda text, call: "picky") as server:
        model = make(server, max_connections=1)
        made = replies(model, [asking(f"{n}", max_tokens=7) for n in range(5)])
    assert [reply.text for reply in made] == [f"answer to {n}" for n in range(5)]
    assert [("max_tokens" in b, b.get("max_completion_tokens")) for b in server.bodies].count(
        (False, 7)
    ) == 5
    later, _ = one("400", asking("why?", max_tokens=7))
    assert later.status is Status.ERROR


def test_a_stream_and_what_is_no_json_are_refused() -> None:
    with pytest.raises(UsageError, match="stream"):
        one("ok", asking("why?", extra={"stream": True}))
    reply, server = one("ok", asking("half \ud83d"))
    assert reply.status is Status.ERROR
    assert "JSON" in (reply.error or "")
    assert not server.calls


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, {"error": {"message": "x", "code": "context_length_exceeded"}}),
        (400, {"error": {"message": "This model's maximum context length is 4097 tokens."}}),
        (400, {"error": {"message": "Input tokens exceed the configured limit of 272000 tokens"}}),
        (400, {"object": "error", "message": "maximum context length is 2048 tokens", "code": 400}),
        (400, {"message": "The decoder prompt (length 9) is longer than the maximum model length"}),
        (400, {"error": {"message": "The prompt (length 9) is too long to fit into the model"}}),
        (400, {"error": {"message": "x", "type": "exceed_context_size_error", "n_ctx": 512}}),
        (400, {"error": {"message": "request (9 tokens) exceeds the available context size (8)"}}),
        (500, {"error": "the input length exceeds the context length"}),
        (400, {"error": "prompt too long; exceeded max context length by 4 tokens"}),
        (400, {"type": "error", "error": {"message": "prompt is too long: 9 tokens > 8"}}),
        (400, {"error": {"message": "input length and `max_tokens` exceed context limit: 9 > 8"}}),
        (413, {"error": {"type": "request_too_large", "message": "Request exceeds the size"}}),
        (422, {"error": {"message": "`inputs` tokens + `max_new_tokens` must be <= 4097."}}),
        (400, {"message": "Prompt too large for model with 8 maximum context length"}),
        (400, [{"error": {"message": "The input token count (9) exceeds it", "code": 400}}]),
        (400, {"error": {"message": "Please reduce the length of the messages or completion."}}),
        (400, {"error": {"message": "The input is longer than the model's context length (8)."}}),
        (400, {"error": "This model's maximum prompt length is 131072 but the request contains 9"}),
        (413, {}),
    ],
)  # fmt: skip
def test_too_long_in_many_tongues(status: int, body: Any) -> None:
    error = refused(HttpReply(status, {}, orjson.dumps(body)))
    assert not error.retryable
    reply = failed(error)
    assert (reply.status, reply.finish_reason) == (Status.TOO_LONG, None)
    assert read_error(orjson.dumps(body)).message in (reply.error or "")


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "max_tokens exceeds what this model can write: 9000 > 8192"),
        (400, "temperature must be at most 2, the maximum"),
        (400, "'messages' is too short"),
        (429, "Rate limit exceeded: maximum context length of tokens per minute"),
    ],
)
def test_other_errors_are_not_too_long(status: int, words: str) -> None:
    error = refused(HttpReply(status, {}, orjson.dumps({"error": {"message": words}})))
    assert failed(error).status is Status.ERROR


def test_errors_in_many_shapes() -> None:
    shapes: dict[str, Any] = {
        "plain": "plain",
        "a": {"error": "a"},
        "b": {"error": {"message": "b"}},
        "c": {"message": "c"},
        "d": {"detail": "d"},
        "e": [{"error": {"message": "e"}}],
        '[{"msg":"f"}]': {"detail": [{"msg": "f"}]},
        '{"code":7}': {"error": {"code": 7}},
    }
    for words, body in shapes.items():
        assert read_error(orjson.dumps(body)).message == words
    assert read_error(b"<h1>No</h1>").message == "<h1>No</h1>"
    assert read_error(b"\xff" * 9_000).message.endswith("…")
    assert refused(HttpReply(402, {}, b"")).retryable is False


def read(choice: Any, **body: Any) -> Reply:
    whole = {"model": "m", "choices": [choice], **body}
    return read_reply(HttpReply(200, {}, json.dumps(whole).encode()))


def test_reasoning_is_kept_apart() -> None:
    reply, _ = one("thinks-on")
    assert (reply.text, reply.reasoning, reply.status) == ("", "hm", Status.ERROR)
    for field in ("reasoning_content", "reasoning"):
        reply = read({"message": {"content": "Paris", field: "hm"}})
        assert (reply.text, reply.reasoning) == ("Paris", "hm")
    reply = read({"message": {"content": "<think>hm</think>\n\nParis"}})
    assert (reply.text, reply.reasoning, reply.status) == ("Paris", "hm", None)
    reply = read({"message": {"content": "<think>hm"}, "finish_reason": "length"})
    assert (reply.text, reply.reasoning, reply.status) == ("", "hm", Status.TRUNCATED)
    assert read({"text": "hm</think>Paris"}).text == "Paris"


@pytest.mark.parametrize("key", [KEY, 'q7/+"\\xyz', "abcdEFGH1234567"])
def test_a_key_that_is_repeated_stays_a_secret(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However the endpoint writes it, also so that it shows only when the JSON has been read."""
    from tests import chaos

    def units(text: str) -> str:
        return "".join(f"\\u{ord(c):04x}" for c in text)

    said = {
        "bare": key,
        "64": base64.b64encode(f"Bearer {key}".encode()).decode(),
        "url": "".join(f"%{byte:02x}" for byte in key.encode()),
        "units": units(key),
    }

    async def tell(call: chaos.Call) -> Any:
        how, form, status = call.text.split()
        text = json.dumps(said[form])[1:-1] if how == "plain" else units(said[form])
        token = [{"token": c, "logprob": -1} for c in said[form]]
        body = json.dumps(call.reply(content="@", model="@"))
        body = body.replace(
            '"index": 0', f'"index": 0, "logprobs": {json.dumps({"content": token})}'
        )
        if status == "400":
            body = '{"error": {"message": "bad key @"}}'
        return chaos.web.Response(
            status=int(status), text=body.replace("@", text), content_type="application/json"
        )

    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setitem(BEHAVIORS, "tell", tell)
    asks = [f"{how} {form} {s}" for how in ("plain", "coded") for form in said for s in (200, 400)]
    with ChaosServer(lambda text, call: "tell") as server:
        found = replies(make(server), [asking(text) for text in asks])
        assert server.headers[0]["Authorization"] == f"Bearer {key}"
    for text, reply in zip(asks, found, strict=True):
        shown = reply.error if text.endswith("400") else f"{reply.text} {reply.model}"
        assert shown is not None
        assert "[hidden]" in shown, text
        left = shown.replace("[hidden]", "").removeprefix("HTTP 400: bad key").split()
        assert all(len(word) < 16 for word in left), (text, shown)
        assert reply.logprobs is None


CALL = [{"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
IMAGE = {"type": "image_url", "image_url": {"url": "data:"}}
NO_ANSWERS: list[tuple[dict[str, Any], str | None, str]] = [
    ({"content": None}, "stop", "no text, but null"),
    ({}, "stop", "no text, but null"),
    ({"content": None, "reasoning_content": "hm"}, "stop", "no text, but null"),
    ({"content": []}, "stop", "no text, but an empty list"),
    ({"content": [IMAGE]}, "stop", "no text, but image_url"),
    ({"content": [IMAGE, {"type": "text", "text": " "}]}, "stop", "no text, but image_url"),
    ({"content": [{"type": "thinking", "thinking": "hm"}]}, "stop", "no text, but thinking"),
    ({"content": "", "images": [IMAGE]}, "stop", "no text, but images"),
    ({"content": None, "audio": {"data": "UklG"}}, "stop", "no text, but audio, null"),
    ({"content": None, "tool_calls": CALL}, "tool_calls", "called a tool"),
    ({"content": "", "tool_calls": CALL}, "stop", "called a tool"),
    ({"content": "Let me look.", "tool_calls": CALL}, "stop", "called a tool"),
    ({"content": "Let me look."}, "tool_calls", "called a tool"),
    ({"content": None, "function_call": {"name": "look"}}, "function_call", "called a tool"),
    ({"content": ""}, "content_filter", "a content filter removed"),
    ({"content": None}, "content_filter", "a content filter removed"),
    ({"content": "\n"}, "content_filter", "a content filter removed"),
    ({"content": ""}, None, "is empty (no finish reason)"),
    ({"content": ""}, "SAFETY", "is empty (finish reason SAFETY)"),
    ({"content": " \n"}, None, "is empty"),
    ({"content": "<think>hm"}, "stop", "no text, but thoughts"),
    ({"content": "The tow"}, "abort", "aborted (finish reason abort)"),
    ({"content": "The tow"}, "error", "aborted"),
]


@pytest.mark.parametrize(("message", "finish", "words"), NO_ANSWERS)
def test_a_reply_without_an_answer_is_no_empty_answer(
    message: dict[str, Any], finish: str | None, words: str
) -> None:
    choice = {"message": {"role": "assistant", **message}, "finish_reason": finish}
    made = [read(choice)]
    body = {"model": "m", "choices": [choice]}
    line = {"custom_id": "a", "response": {"status_code": 200, "body": body}}
    result = read_line(orjson.dumps(line))
    assert result is not None
    assert result.reply is not None
    made.append(result.reply)
    if set(message) == {"content"} and isinstance(message["content"], str):
        made.append(read({"text": message["content"], "finish_reason": finish}))
    for reply in made:
        assert (reply.status, reply.text) == (Status.ERROR, "")
        assert words in (reply.error or "")
        assert reply.finish_reason == finish
    cut = read({"message": message, "finish_reason": "length"})
    assert cut.status is Status.TRUNCATED


@pytest.mark.parametrize(
    ("message", "finish", "text"),
    [
        ({"content": ""}, "stop", ""),
        ({"content": " "}, "end_turn", " "),
        ({"content": "", "tool_calls": [], "function_call": None}, "stop", ""),
        ({"content": [{"type": "text", "text": ""}]}, "stop", ""),
        ({"content": "<think>hm</think>"}, "stop", ""),
        ({"content": "Paris", "tool_calls": []}, None, "Paris"),
        ({"content": [IMAGE, {"type": "text", "text": "Paris"}]}, None, "Paris"),
        ({"content": [{"type": "refusal", "refusal": "No."}]}, "stop", "No."),
        ({"content": None, "refusal": "No."}, None, "No."),
        ({"content": "Par"}, "content_filter", "Par"),
    ],
)
def test_read_reply_text_of_model_is_an_answer(
    message: dict[str, Any], finish: str | None, text: str
) -> None:
    reply = read({"message": message, "finish_reason": finish})
    assert (reply.status, reply.error, reply.text) == (None, None, text)


def test_content_as_parts() -> None:
    parts = [{"type": "text", "text": "Pa"}, {"type": "image_url"}, {"type": "text", "text": "ris"}]
    assert read({"message": {"content": parts}}).text == "Paris"
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    reply = read({"message": {"content": [thinking, {"type": "text", "text": "Paris"}]}})
    assert (reply.text, reply.reasoning) == ("Paris", "hm")


def test_usage_in_full_and_in_part() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 2}
    details = {"prompt_tokens_details": {"cached_tokens": 8}}
    message = {"message": {"content": "a"}}
    assert read(message, usage={**usage, **details}).usage == TokenUsage(10, 2, 8)
    assert read(message, usage={**usage, "prompt_tokens_details": None}).usage == TokenUsage(10, 2)
    assert read(message, usage=None).usage == TokenUsage()
    assert read(message, usage={**usage, "prompt_tokens": 10.0}).usage == TokenUsage(10, 2)
    reply, _ = one("odd-usage")
    assert reply.usage == TokenUsage(1)


@pytest.mark.parametrize(
    "tokens",
    ['"many"', "NaN", "Infinity", "1e999", "-1", "1e30", "9007199254740992", "9" * 6_000, "[1]"],
)
def test_invalid_token_counts_are_zero(tokens: str) -> None:
    usage = f'{{"prompt_tokens": {tokens}, "completion_tokens": 3, "prompt_tokens_details": 7}}'
    body = f'{{"choices": [{{"message": {{"content": "a"}}}}], "usage": {usage}}}'
    reply = read_reply(HttpReply(200, {}, body.encode()))
    assert (reply.text, reply.usage) == ("a", TokenUsage(0, 3))


def test_a_usage_from_elsewhere_is_made_sane() -> None:
    assert TokenUsage(10**30, -1, 5).clamped() == TokenUsage(0, 0, 5)
    assert TokenUsage(2**53 - 1, 2, 1).clamped() == TokenUsage(2**53 - 1, 2, 1)


def test_logprobs_of_both_apis() -> None:
    tops = [{"token": "a", "logprob": -0.1}, {"token": "b", "logprob": -2}]
    token = {"token": "a", "logprob": -0.1, "bytes": [97], "top_logprobs": tops}
    chat = read({"message": {"content": "a"}, "logprobs": {"content": [token]}}).logprobs
    plain = {"tokens": ["a"], "token_logprobs": [-0.1], "top_logprobs": [{"a": -0.1, "b": -2}]}
    assert chat == read({"text": "a", "logprobs": plain}).logprobs
    assert chat is not None
    assert (chat[0].token, chat[0].logprob, chat[0].top) == ("a", -0.1, {"a": -0.1, "b": -2})
    without = read({"text": "a", "logprobs": {**plain, "top_logprobs": None}}).logprobs
    assert without is not None
    assert without[0].top == {}
    odd_tokens = [{"token": 7, "logprob": 0}, {"token": "a", "logprob": 10**400}]
    odd_tokens += [{"token": "a", "logprob": None}, {"token": "a", "logprob": float("nan")}]
    odd_tokens += [{"token": "a", "logprob": 0, "top_logprobs": 7}]
    contents = [{"content": [odd]} for odd in odd_tokens]
    for odd in ({}, {"content": None}, {"content": [{}]}, "x", {"tokens": [1]}, *contents):
        assert read({"text": "a", "logprobs": odd}).logprobs is None


def test_read_reply_accepts_json_that_is_not_strict() -> None:
    body = b'{"choices":[{"message":{"content":"cut \\ud83d"},"logprobs":{"content":[{"token":"a",'
    body += b'"logprob":-Infinity}]}}]}'
    reply = read_reply(HttpReply(200, {}, body))
    assert reply.text == "cut \ufffd"
    assert reply.logprobs is not None
    assert reply.logprobs[0].logprob == -9999.0


def test_charsets() -> None:
    text = '{"choices": [{"message": {"content": "été"}}]}'
    for charset in ("iso-8859-1", "UTF-16", "utf-8-sig", '"latin-1"', "cp1252"):
        headers = {"Content-Type": f"application/json; charset={charset}"}
        reply = HttpReply(200, headers, text.encode(charset.strip('"')))
        assert read_reply(reply).text == "été", charset
        odd = HttpReply(500, headers, text.encode(charset.strip('"')))
        assert "été" in refused(odd).reason, charset
    for charset in ("iso-8859-1", "no-such", "hex"):  # UTF-8 whatever is declared; then as it goes
        headers = {"Content-Type": f"application/json; charset={charset}"}
        assert read_reply(HttpReply(200, headers, text.encode())).text == "été"
    assert read_reply(HttpReply(200, headers, text.encode("latin-1"))).text == "\ufffdt\ufffd"
    coded = {"error": {"message": "x", "code": "context_length_exceeded"}}
    error = refused(HttpReply(400, {}, b"\xef\xbb\xbf" + orjson.dumps(coded)))
    assert failed(error).status is Status.TOO_LONG


@pytest.mark.parametrize("depth", [300, 900, 2_000, 100_000])
def test_errors_that_are_nested_deeply(depth: int) -> None:
    deep = "[" * depth + "]" * depth
    for body in (
        f'{{"error": {deep}}}',
        f'{{"error": {{"message": {deep}, "code": {deep}}}}}',
        f'{{"error": {{"message": "busy", "at": {deep}, "code": {"9" * 50}}}}}',
    ):
        assert refused(HttpReply(400, {}, body.encode())).reason.startswith("HTTP 400: ")
        with pytest.raises(HttpError, match=r"HTTP 200( with an error|: the reply is nested)") as e:
            read_reply(HttpReply(200, {}, body.encode()))
        assert not e.value.retryable
        assert failed(e.value).status is Status.ERROR
        line = f'{{"custom_id": "a", "error": {deep}}}'
        result = read_line(line.encode())
        assert result is None or (result.reply is not None and result.reply.error)
    with pytest.raises(HttpError, match="with an error: busy"):
        read_reply(HttpReply(200, {}, b'{"error": {"message": "busy", "at": %d}}' % 10**40))


@pytest.mark.parametrize(
    "choices",
    ["x", [7], [{"message": "x"}], [{"message": {"content": 7}}], [{"text": 7}], {"a": 1}],
)
def test_another_shape_than_the_apis_is_a_failure_with_a_place(choices: Any) -> None:
    with pytest.raises(HttpError, match="an unexpected structure") as caught:
        read_reply(HttpReply(200, {}, orjson.dumps({"choices": choices})))
    assert not caught.value.retryable
    cut = b'{"choices": [{"message": "x"}], "usage": {'
    with pytest.raises(HttpError, match="isn't complete JSON") as caught:
        read_reply(HttpReply(200, {}, cut))
    assert caught.value.retryable
    with pytest.raises(HttpError, match="an unexpected structure") as caught:
        read_reply(HttpReply(200, {}, cut[:-10] + b'"n": NaN}'))
    assert not caught.value.retryable


def test_an_error_in_a_choice() -> None:
    with pytest.raises(HttpError, match="upstream") as caught:
        read({"message": {"content": ""}, "error": {"message": "upstream", "code": 502}})
    assert caught.value.retryable
    with pytest.raises(HttpError) as caught:
        read({}, error={"message": "prompt is too long", "code": 500})
    assert failed(caught.value).status is Status.TOO_LONG
    with pytest.raises(HttpError) as caught:
        read({}, error={"message": "bad key", "code": 401})
    assert failed(caught.value).finish_reason == "unreachable"


@pytest.mark.parametrize(
    ("text", "cut", "answer", "thoughts"),
    [
        ("Paris", False, "Paris", None),
        ("", True, "", None),
        ("<think>a</think>b", False, "b", "a"),
        (" \n<think>\na\n</think>\n\nb\n", False, "b\n", "a"),
        ("<think>\n\n</think>\n\nb", False, "b", None),
        ("<think>a", True, "", "a"),
        ("<think>a", False, "", "a"),
        ("<think> \n", False, "", None),
        ("a</think>b", False, "b", "a"),
        ("a</think>b", True, "b", "a"),
        ("see <think>a</think>b", False, "see <think>a</think>b", None),
        ("<think>a</think>b</think>c", False, "b</think>c", "a"),
        ("cut in the middle", True, "cut in the middle", None),
        ("so Paris.\n</think>\n\nParis", False, "Paris", "so Paris."),
        ("so Paris.</think> Paris", False, "Paris", "so Paris."),
        ("The tag </think> ends it.", False, "The tag </think> ends it.", None),
        ("Write `</think>` last.", False, "Write `</think>` last.", None),
        ('Say "</think>".', False, 'Say "</think>".', None),
        ("Like this:\n```\n</think>\n```\n", False, "Like this:\n```\n</think>\n```\n", None),
    ],
)
def test_thinking(text: str, cut: bool, answer: str, thoughts: str | None) -> None:
    reply = read({"text": text, "finish_reason": "length" if cut else "stop"})
    assert (reply.text, reply.reasoning) == (answer, thoughts)
    assert split_thinking(text) == (answer, thoughts)


def test_where_nothing_can_be_open_a_closing_tag_is_text() -> None:
    assert split_thinking("a\n</think>\nb", may_be_open=False) == ("a\n</think>\nb", None)
    assert split_thinking("<think>a</think>b", may_be_open=False) == ("b", "a")
    reply = read({"message": {"content": "x\n</think>\ny", "reasoning_content": "hm"}})
    assert (reply.text, reply.reasoning) == ("x\n</think>\ny", "hm")


def test_layouts() -> None:
    system, user = Message("system", "S {user}"), Message("user", "U {system} {x}")
    assert lay_out([user], None) == "U {system} {x}\n"
    assert lay_out([system, user], None) == "S {user}\n\nU {system} {x}\n"
    assert lay_out([system, user], "<{system}|{user}|{}") == "<S {user}|U {system} {x}|{}"
    assert lay_out([system, user], "<{user}>") == "<S {user}\n\nU {system} {x}>"
    assert lay_out([user], "<{system}|{user}>") == "<|U {system} {x}>"
    turns = [Message("user", "a"), Message("assistant", "b"), Message("user", "c")]
    assert lay_out(turns, None) == "User: a\n\nAssistant: b\n\nUser: c\n"


def test_wrappers_that_cannot_be_used(tmp_path: Path) -> None:
    good, bad, binary = (tmp_path / name for name in ("good", "bad", "binary"))
    good.write_text("{system}\n{user}\n")
    bad.write_text("{question}")
    binary.write_bytes(b"\xff{user}")
    assert read_wrapper(good) == "{system}\n{user}\n"
    for path, words in ((bad, "{user}"), (binary, "UTF-8"), (tmp_path / "absent", "No such file")):
        with pytest.raises((InputError, UsageError)) as caught:
            read_wrapper(path)
        assert words in str(caught.value)
        assert str(path) in str(caught.value)


def test_estimates() -> None:
    request = ChatRequest((Message("system", "abcd"), Message("user", "e")))
    assert request.estimate_prompt_tokens() == 2
    assert asking("abcd").estimate_tokens() == 257
    assert asking("abcd", max_tokens=5).estimate_tokens() == 6


def test_tokens_per_minute_hold_calls_back() -> None:
    with ChaosServer() as server:
        # 60 tokens a second; each call is estimated at 1 + 60 and corrected to 1 + 3.
        model = make(server, tpm=3_600)
        start = time.monotonic()
        made = replies(model, [asking("why?", max_tokens=60) for _ in range(3)])
    assert [reply.status for reply in made] == [None] * 3
    assert 0.1 < time.monotonic() - start < 5


def test_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    local = "http://localhost:1/v1"
    monkeypatch.delenv("OPENAI_API_KEY")
    assert find_endpoint(ModelOptions(base_url=local)).headers == {}
    for options in (ModelOptions(), ModelOptions(base_url="https://api.openai.com/v1/")):
        with pytest.raises(UsageError, match="OPENAI_API_KEY isn't set"):
            find_endpoint(options)
    with pytest.raises(UsageError, match="MY_KEY isn't set"):
        find_endpoint(ModelOptions(base_url=local, api_key_env="MY_KEY"))
    monkeypatch.setenv("MY_KEY", " own-secret-key\n")
    own = ModelOptions(base_url=local, api_key_env="MY_KEY")
    assert find_endpoint(own).headers == {"Authorization": "Bearer own-secret-key"}
    model = OpenAIModel("m", own)
    assert "own-secret-key" not in repr(model) + repr(model.endpoint) + repr(vars(model))
    monkeypatch.setenv("MY_KEY", "own\nsecret")
    with pytest.raises(UsageError) as caught:
        find_endpoint(own)
    assert "secret" not in str(caught.value)


def test_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_endpoint(ModelOptions()).base == "https://api.openai.com/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://from-env:8/v1/")
    assert find_endpoint(ModelOptions()).url("models") == "http://from-env:8/v1/models"
    full = ModelOptions(base_url="https://me:pass%21word@host/v1/?api-version=2&key=query-secret")
    endpoint = find_endpoint(full)
    assert endpoint.base == "https://host/v1"
    assert endpoint.url("x") == "https://host/v1/x?api-version=2&key=query-secret"
    assert endpoint.headers == {"Authorization": "Basic bWU6cGFzcyF3b3Jk"}
    shown = repr(endpoint) + repr(OpenAIModel("m", full))
    for secret in ("pass", "query-secret", "bWU6", KEY):
        assert secret not in shown
    for bad in ("localhost:8000", "ftp://x/v1", "http://", "http://x:port/", "http://[::1"):
        with pytest.raises(UsageError, match="base URL"):
            find_endpoint(ModelOptions(base_url=bad))
    with pytest.raises(UsageError) as caught:
        find_endpoint(ModelOptions(base_url="ftp://me:secret@x/v1"))
    assert "secret" not in str(caught.value)
    for call in ("chat/completions", "completions/"):
        whole = f"https://me:secret@x:8/v1/{call}?key=secret"
        with pytest.raises(UsageError, match=r"must end before /.* Use https://x:8/v1 ") as caught:
            find_endpoint(ModelOptions(base_url=whole))
        assert "secret" not in str(caught.value)
    assert find_endpoint(ModelOptions(base_url="http://x/completions/v1")).base[-3:] == "/v1"


def test_who_cannot_be_reached_is_named_without_secrets() -> None:
    with ChaosServer(lambda text, call: "404") as server:
        url = server.base_url.replace("http://", "http://me:door-secret@") + "?key=query-secret"
        model = OpenAIModel("m", ModelOptions(base_url=url))
        reply = replies(model, [asking("why?")])[0]
    place = f"{server.base_url}/chat/completions"
    assert reply.error == f"HTTP 404 from {place}: the model does not exist"
    body = orjson.dumps({"error": {"message": "bad key", "code": 401}})
    with pytest.raises(HttpError, match="HTTP 200 from http://x/v1 with an error: bad key"):
        read_reply(HttpReply(200, {}, body, "http://x/v1?key=query-secret"))


def test_the_signature_names_what_changes_the_answers(tmp_path: Path) -> None:
    def signature(**options: Any) -> str:
        return OpenAIModel("m", ModelOptions(**options)).signature

    assert signature() == signature(base_url="http://localhost/v1", rpm=5) == "chat/m"
    assert signature(api="completions") == "completions/m"
    wrapper = tmp_path / "w"
    wrapper.write_text("{user}")
    wrapped = signature(api="completions", wrapper=wrapper)
    assert wrapped.startswith("completions/m+")
    assert signature(wrapper=wrapper) == "chat/m"  # chat has no use for it
    assert signature(extra={"a": 1, "b": 2}) == signature(extra={"b": 2, "a": 1}) != "chat/m"


def test_under_uvloop() -> None:
    uvloop = pytest.importorskip("uvloop")
    with ChaosServer(lambda text, call: "500" if call == 1 else "ok") as server:
        model = make(server)

        async def main() -> list[Reply]:
            made = await asyncio.gather(*(model.generate(asking(f"{n}")) for n in range(50)))
            await model.close()
            return made

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            made = runner.run(main())
    assert [reply.text for reply in made] == [f"answer to {n}" for n in range(50)]
    assert set(server.calls.values()) == {2}


@pytest.mark.parametrize("name", ["model", "messages", "prompt", "n"])
def test_an_extra_parameter_cannot_change_what_is_asked(name: str) -> None:
    model = OpenAIModel("m", ModelOptions(base_url="http://127.0.0.1:9/v1"))
    request = ChatRequest((Message("user", "x"),), Params(extra={name: 1}))
    with pytest.raises(UsageError, match=name):
        model.body(request)


def test_an_empty_address_is_not_openais() -> None:
    with pytest.raises(UsageError, match="base URL is empty"):
        OpenAIModel("m", ModelOptions(base_url=" "))
