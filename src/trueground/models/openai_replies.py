"""Reading what an OpenAI-compatible endpoint sends back."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

import msgspec

from trueground.models.base import UNREACHABLE, Reply, TokenLogprob, Usage, count
from trueground.models.openai_errors import error_inside, refused
from trueground.models.thinking import CLOSE, split_thinking
from trueground.net.failures import HttpReply, UnusableError, not_json
from trueground.types import Status

_CUT = {"length", "max_tokens"}
# What endpoints call an end that the model chose, one where it wants a tool, one that was no end.
_STOPPED = {"stop", "eos", "eos_token", "end_turn", "stop_sequence", "stop_token"}
_TOOL = {"tool_calls", "function_call", "tool_use"}
_BROKEN = {"abort", "aborted", "cancelled", "canceled", "error"}
# What endpoints write for "as good as impossible", where JSON has no minus infinity.
_LEAST_LOGPROB = -9999.0
_LONGEST_INT = 18  # digits of whole numbers that every part of this can handle


class _Message(msgspec.Struct):
    content: str | list[Any] | None = None
    refusal: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    tool_calls: Any = None
    function_call: Any = None
    images: Any = None
    audio: Any = None


class _Choice(msgspec.Struct):
    """Of either API: chat has a message, completions have a text."""

    message: _Message | None = None
    text: str | None = None
    finish_reason: Any = None
    logprobs: Any = None
    error: Any = None


class _ReplyBody(msgspec.Struct):
    choices: list[_Choice] | None = None
    error: Any = None
    model: Any = None
    usage: Any = None


_decode = msgspec.json.Decoder(_ReplyBody).decode


def read_reply(reply: HttpReply) -> Reply:
    """The model's reply in an HTTP reply. Raises HttpError where there is none."""
    if not 200 <= reply.status < 300:
        raise refused(reply)
    body = _body(reply)
    if body.error:
        raise error_inside(reply, body.error)
    usage = _usage(body.usage)
    model = body.model if isinstance(body.model, str) else None
    choice = body.choices[0] if body.choices else None
    if choice is None or (choice.message is None and choice.text is None):
        # Paid for and empty: asking again would be paid for again.
        reason = f"HTTP {reply.status}: the reply holds no answer (choices are missing or empty)"
        lost = Status.ERROR
        return Reply(status=lost, error=reason, model=model, usage=usage, calls=reply.calls)
    if choice.error:
        raise error_inside(reply, choice.error)
    made = _answer(choice)
    made.model = model
    made.usage = usage
    made.calls = reply.calls
    return made


def _answer(choice: _Choice) -> Reply:
    message = choice.message or _Message(content=choice.text)
    finish = choice.finish_reason if isinstance(choice.finish_reason, str) else None
    if finish == UNREACHABLE:  # our own word for a call that came to nobody
        finish = f"{UNREACHABLE} (endpoint)"
    content, thoughts = _parts(message.content)
    field = message.reasoning_content or message.reasoning
    # An endpoint that gives the thoughts apart has left none in the text.
    text, aloud = split_thinking(content, may_be_open=not (field or thoughts))
    said = [t for t in (field, thoughts, aloud) if t and isinstance(t, str)]
    refusal = message.refusal if isinstance(message.refusal, str) else ""
    status, error = None, None
    if is_cut(finish):
        status = Status.TRUNCATED
    elif not refusal and (error := why_no_answer(text, finish, _beside(message, text))):
        status, text = Status.ERROR, ""
    return Reply(
        text=text or refusal,
        finish_reason=finish,
        status=status,
        error=error,
        reasoning="\n\n".join(said) or None,
        refusal=bool(refusal) or finish == "content_filter",
        logprobs=_logprobs(choice.logprobs) if choice.logprobs else None,
    )


def is_cut(finish: str | None) -> bool:
    """Whether the reply ended at the limit of its tokens."""
    return (finish or "").lower() in _CUT


def why_no_answer(text: str, finish: str | None, instead: str | None = None) -> str | None:
    """Why a whole reply holds no answer; None where it holds one.

    An empty text is one only where the model chose to end there and nothing came `instead`.
    """
    end = (finish or "").lower()
    if end in _BROKEN:
        return f"the reply was broken off (finish reason {finish})"
    if end in _TOOL or instead == _CALL:
        return "the model called a tool and gave no answer"
    if text.strip():
        return None
    if end == "content_filter":
        return "a content filter left nothing of the reply"
    if instead:
        return f"the reply holds no text, but {instead}"
    ended = f"finish reason {finish}" if finish else "no finish reason"
    return None if end in _STOPPED else f"the reply is empty ({ended})"


_CALL = "a call"


def _beside(message: _Message, text: str) -> str | None:
    """What a message holds that is no text; None where there is nothing but text."""
    if message.tool_calls or message.function_call:
        return _CALL
    content = message.content
    kinds = {name for name in ("images", "audio") if getattr(message, name)}
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict) and "text" not in part]
        kinds |= {_string(part.get("type")) or "another part" for part in parts}
        if not content:
            kinds.add("an empty list")
    elif content is None:
        kinds.add("null")
    elif not text.strip() and content.strip() and CLOSE not in content:
        kinds.add("thoughts")
    return ", ".join(sorted(kinds)) or None


def _body(reply: HttpReply) -> _ReplyBody:
    """The typed body. Raises UnusableError: another attempt may help where it is no whole JSON.

    What is whole and of another shape was paid for, and would be again.
    """
    try:
        return _decode(reply.body)
    except (ValueError, RecursionError):
        pass
    whole = True
    try:
        return _lenient(reply.utf8())
    except msgspec.ValidationError as error:
        reason = f"HTTP {reply.status}: the reply has another shape than the API's: {error}"
    except RecursionError:
        reason = f"HTTP {reply.status}: the reply is nested too deeply to be read"
    except ValueError:
        reason, whole = not_json(reply), False
    raise UnusableError(reason, status=reply.status, retryable=not whole, paid=True)


def _lenient(body: bytes) -> _ReplyBody:
    """What strict JSON forbids and servers send: NaN, numbers without measure, and halves of
    characters cut by a limit.
    """
    value = json.loads(body.decode(), parse_int=_whole_number)
    whole = json.dumps(value, ensure_ascii=False).encode("utf-16", "surrogatepass")
    return msgspec.convert(json.loads(whole.decode("utf-16", "replace")), _ReplyBody)


def _whole_number(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_INT else float(digits)


def _parts(content: str | list[Any] | None) -> tuple[str, str]:
    """(text, thoughts) of a content that may be a list of parts."""
    if not isinstance(content, list):
        return content or "", ""
    text, thoughts = [], []
    for part in content:
        if isinstance(part, str):
            text.append(part)
        elif isinstance(part, dict):
            text.append(_string(part.get("text") or part.get("refusal")))
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
        tokens_in=count(usage.get("prompt_tokens")),
        tokens_out=count(usage.get("completion_tokens")),
        cached=count(details.get("cached_tokens")) if isinstance(details, dict) else 0,
    )


def _logprobs(value: Any) -> list[TokenLogprob] | None:
    """The log-probabilities of either API, None where they have another shape."""
    try:
        if value.get("content") is not None:
            made = [
                _logprob(
                    token["token"],
                    token["logprob"],
                    {t["token"]: t["logprob"] for t in token.get("top_logprobs") or ()},
                )
                for token in value["content"]
            ]
        else:
            tokens = value["tokens"]
            tops = value.get("top_logprobs") or [None] * len(tokens)
            made = [
                _logprob(token, logprob, top)
                for token, logprob, top in zip(tokens, value["token_logprobs"], tops, strict=True)
            ]
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
        return None
    return made


def _logprob(token: Any, logprob: Any, top: Any) -> TokenLogprob:
    """One token. Raises AttributeError, TypeError, ValueError, OverflowError for odd ones."""
    if not isinstance(token, str):
        raise TypeError
    return TokenLogprob(token, _finite(logprob), {t: _finite(v) for t, v in (top or {}).items()})


def _finite(logprob: Any) -> float:
    number = max(float(logprob), _LEAST_LOGPROB)
    if not isfinite(number):
        raise ValueError
    return number
