"""Reading what an OpenAI-compatible endpoint sends back."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from trueground.models.base import Reply, TokenLogprob, Usage
from trueground.models.openai_errors import error_inside, refused
from trueground.models.thinking import split_thinking
from trueground.net.failures import HttpReply, UnusableError, not_json
from trueground.types import Status

_CUT = {"length", "max_tokens"}


class _Message(msgspec.Struct):
    content: str | list[Any] | None = None
    refusal: Any = None
    reasoning_content: Any = None
    reasoning: Any = None


class _Choice(msgspec.Struct):
    """Of either API: chat has a message, completions have a text."""

    message: _Message | None = None
    text: str | None = None
    finish_reason: str | None = None
    logprobs: Any = None
    error: Any = None


class _Body(msgspec.Struct):
    choices: list[_Choice] | None = None
    error: Any = None
    model: Any = None
    usage: Any = None


_decode = msgspec.json.Decoder(_Body).decode


def read_reply(reply: HttpReply) -> Reply:
    """The model's reply in an HTTP reply. Raises HttpError where there is none."""
    if not 200 <= reply.status < 300:
        raise refused(reply)
    body = _body(reply)
    if body.error:
        raise error_inside(reply.status, body.error)
    usage = _usage(body.usage)
    model = body.model if isinstance(body.model, str) else None
    choice = body.choices[0] if body.choices else None
    if choice is None or (choice.message is None and choice.text is None):
        # Paid for and empty: asking again would be paid for again.
        reason = f"HTTP {reply.status}: the reply holds no answer (choices are missing or empty)"
        return Reply(status=Status.ERROR, error=reason, model=model, usage=usage)
    if choice.error:
        raise error_inside(reply.status, choice.error)
    made = _answer(choice)
    made.model = model
    made.usage = usage
    return made


def _answer(choice: _Choice) -> Reply:
    message = choice.message or _Message(content=choice.text)
    cut = choice.finish_reason in _CUT
    content, thoughts = _parts(message.content)
    text, aloud = split_thinking(content, cut)
    field = message.reasoning_content or message.reasoning
    said = [t for t in (field, thoughts, aloud) if t and isinstance(t, str)]
    refusal = message.refusal if isinstance(message.refusal, str) else ""
    return Reply(
        text=text or refusal,
        finish_reason=choice.finish_reason,
        status=Status.TRUNCATED if cut else None,
        reasoning="\n\n".join(said) or None,
        refusal=bool(refusal) or choice.finish_reason == "content_filter",
        logprobs=_logprobs(choice.logprobs) if choice.logprobs else None,
    )


def _body(reply: HttpReply) -> _Body:
    """The typed body. Raises UnusableError, for which another attempt may help."""
    try:
        return _decode(reply.body)
    except msgspec.ValidationError as error:
        reason = f"HTTP {reply.status}: the reply has another shape than the API's: {error}"
    except (msgspec.DecodeError, UnicodeDecodeError):
        try:
            return _lenient(reply.body)
        except (ValueError, RecursionError):
            reason = not_json(reply)
    raise UnusableError(reason, status=reply.status)


def _lenient(body: bytes) -> _Body:
    """What strict JSON forbids and servers send: NaN, and halves of characters cut by a limit."""
    value = json.loads(body.decode("utf-8", "replace"))
    whole = json.dumps(value, ensure_ascii=False).encode("utf-16", "surrogatepass")
    return msgspec.convert(json.loads(whole.decode("utf-16", "replace")), _Body)


def _parts(content: str | list[Any] | None) -> tuple[str, str]:
    """(text, thoughts) of a content that may be a list of parts."""
    if not isinstance(content, list):
        return content or "", ""
    text, thoughts = [], []
    for part in content:
        if isinstance(part, str):
            text.append(part)
        elif isinstance(part, dict):
            text.append(_string(part.get("text")))
            inner = part.get("thinking")
            thoughts.append(_parts(inner)[0] if isinstance(inner, str | list) else "")
    return "".join(text), "".join(thoughts)


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _usage(usage: Any) -> Usage:
    if not isinstance(usage, dict):
        return Usage()
    details = usage.get("prompt_tokens_details")
    return Usage(
        tokens_in=_count(usage.get("prompt_tokens")),
        tokens_out=_count(usage.get("completion_tokens")),
        cached=_count(details.get("cached_tokens")) if isinstance(details, dict) else 0,
    )


def _count(value: Any) -> int:
    return int(value) if isinstance(value, int | float) else 0


def _logprobs(value: Any) -> list[TokenLogprob] | None:
    """The log-probabilities of either API, None where they have another shape."""
    try:
        if value.get("content") is not None:
            return [
                TokenLogprob(
                    token=token["token"],
                    logprob=float(token["logprob"]),
                    top={t["token"]: float(t["logprob"]) for t in token.get("top_logprobs") or ()},
                )
                for token in value["content"]
            ]
        tokens = value["tokens"]
        tops = value.get("top_logprobs") or [None] * len(tokens)
        return [
            TokenLogprob(token=token, logprob=float(logprob), top=top or {})
            for token, logprob, top in zip(tokens, value["token_logprobs"], tops, strict=True)
        ]
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
